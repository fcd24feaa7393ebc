# frozen_string_literal: true

Gems.use "rack-proxy" do
  requires "rack/proxy"
  app do
    whole, streamed = [false, true].map do |streaming|
      Rack::Proxy.new(backend: Gems::URL, streaming: streaming)
    end
    ->(env) { (env["QUERY_STRING"].end_with?("0", "2", "4") ? whole : streamed).call(env) }
  end
end
