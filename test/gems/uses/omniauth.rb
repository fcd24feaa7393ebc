# frozen_string_literal: true

Gems.use "omniauth" do
  requires "rack", "rack/session", "omniauth"
  app do
    OmniAuth.config.logger = Logger.new(File::NULL)
    OmniAuth.config.request_validation_phase = nil
    inner = ->(env) {
      Hunt.nap && [200, {}, [env["PATH_INFO"], env["omniauth.strategy"].class.name.to_s]]
    }
    builder = Rack::Builder.new {
      use(Rack::Session::Cookie, secret: "x" * 64) &&
        use(OmniAuth::Builder) { provider(:developer) } && run(inner)
    }.to_app
    ->(env) { builder.call(env).tap { |found| found[1].delete("set-cookie") } }
  end
  asks :post
end
