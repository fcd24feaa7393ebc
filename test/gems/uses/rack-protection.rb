# frozen_string_literal: true

Gems.use "rack-protection" do
  requires "rack", "rack/session", "rack/protection"
  app do
    inner = ->(env) { Hunt.nap && [200, { "content-type" => "text/html" }, [env["PATH_INFO"]]] }
    Rack::Builder.new {
      use(Rack::Protection, except: %i[session_hijacking remote_token]) && run(inner)
    }.to_app
  end
  asks :post
end
