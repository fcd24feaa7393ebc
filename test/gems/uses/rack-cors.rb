# frozen_string_literal: true

Gems.use "rack-cors" do
  requires "rack/cors"
  app do
    inner = ->(env) { Hunt.nap && [200, { "content-type" => "text/plain" }, [env["PATH_INFO"]]] }
    Rack::Cors.new(inner) do
      allow { origins("other.example.org") && resource("*", methods: %i[get post], headers: :any) }
    end
  end
end
