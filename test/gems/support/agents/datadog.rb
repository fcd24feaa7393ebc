# frozen_string_literal: true

ENV.update("DD_REMOTE_CONFIGURATION_ENABLED" => "false",
           "DD_INSTRUMENTATION_TELEMETRY_ENABLED" => "false",
           "DD_TRACE_STARTUP_LOGS" => "false", "DD_TRACE_ENABLED" => "true")
require "datadog"

Datadog.configure do |config|
  config.logger.level = Logger::FATAL
  config.agent.host = AppAgents::SINK.host
  config.agent.port = AppAgents::SINK.port
  config.service = "shop"
  config.tracing.instrument :rack
  config.tracing.instrument :http
  config.tracing.instrument :active_record
end

class AppAgents::OfDatadog < AppAgents::Agent
  def around(application) = Datadog::Tracing::Contrib::Rack::TraceMiddleware.new(application)

  def identify(id)
    Datadog::Tracing.active_span.set_tag("user", id)
    Datadog::Tracing.active_trace.set_tag("request", id)
  end

  # What a log line would say.
  def note(text)
    Datadog::Tracing.active_span&.set_tag("note", text)
    Datadog::Tracing.active_span&.set_tag("log", Datadog::Tracing.correlation.span_id)
  end

  def report(error) = Datadog::Tracing.active_span&.set_error(error)
  def span(name, &block) = Datadog::Tracing.trace(name) { block.call }

  def carry
    AppAgents::Tasks.carry(:datadog) do
      digest = Datadog::Tracing.active_trace&.to_digest
      ->(&work) { Datadog::Tracing.continue_trace!(digest, &work) } if digest
    end
  end
end
