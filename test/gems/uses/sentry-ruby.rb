# frozen_string_literal: true

Gems.use "sentry-ruby" do
  requires "sentry-ruby"
  note "has no current span in a task of NB.all, NB.offload and a FiberPool, as in Thread.new; " \
       "NB.carry takes it along (docs/guides/tracing.md)"
  setup do
    Sentry.init do |config|
      config.dsn = "http://key@127.0.0.1:#{Hunt::SERVICE}/1"
      config.sdk_logger = Logger.new(File::NULL)
      config.send_client_reports = false
    end
  end
  app do
    Sentry::Rack::CaptureExceptions.new(lambda do |env|
      Sentry.set_user(id: env["PATH_INFO"])
      Sentry.set_tags(path: env["PATH_INFO"])
      Hunt.nap
      event = Sentry.capture_message("seen")
      [200, {}, [event.user[:id] || event.user["id"].to_s, event.tags.inspect]]
    end)
  end
end
