# frozen_string_literal: true

require "sentry-ruby"

Sentry.init do |config|
  # Calls of the DSN's own host are not told.
  config.dsn = "http://key@localhost:#{AppAgents::SINK.port}/1"
  config.sdk_logger = Logger.new(File::NULL)
  config.traces_sample_rate = 1.0
  config.breadcrumbs_logger = %i[sentry_logger http_logger]
  config.send_client_reports = false
  config.background_worker_max_queue = 10_000
end

class AppAgents::OfSentry < AppAgents::Agent
  def around(application) = Sentry::Rack::CaptureExceptions.new(application)

  def identify(id)
    Sentry.set_user(id: id)
    Sentry.set_tags(request: id)
  end

  def note(text)
    Sentry.add_breadcrumb(Sentry::Breadcrumb.new(message: text))
    Sentry.logger.info(text)
  end

  def report(error) = Sentry.capture_exception(error)
  def span(name, &block) = Sentry.with_child_span(op: "step", description: name) { block.call }

  def carry
    AppAgents::Tasks.carry(:sentry) do
      scope = Sentry.get_current_scope
      taken = scope.dup
      taken.set_span(scope.get_span) if scope.get_span
      lambda do |&work|
        Sentry.with_scope do |own|
          own.update_from_scope(taken)
          own.set_rack_env(taken.rack_env)
          work.call
        end
      end
    end
  end
end
