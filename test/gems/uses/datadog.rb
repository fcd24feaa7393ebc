# frozen_string_literal: true

Gems.use "datadog" do
  note "has no current span in a task of NB.all, NB.offload and a FiberPool, as in Thread.new; " \
       "NB.carry takes it along (docs/guides/tracing.md)"
  setup do
    ENV.update("DD_TRACE_ENABLED" => "true", "DD_REMOTE_CONFIGURATION_ENABLED" => "false",
               "DD_INSTRUMENTATION_TELEMETRY_ENABLED" => "false",
               "DD_TRACE_STARTUP_LOGS" => "false")
    require "datadog"
    Datadog.configure do |config|
      config.logger.level = Logger::FATAL
      config.agent.host = "127.0.0.1" # the HTTP service takes its traces
      config.agent.port = Hunt::SERVICE
    end
  end
  answer do |id|
    Datadog::Tracing.trace(id) do |outer|
      Datadog::Tracing.active_span.set_tag("id", id)
      Hunt.nap
      [Datadog::Tracing.active_span.name,
       Datadog::Tracing.trace("inner") { |inner| Hunt.nap && inner.parent_id == outer.id },
       Datadog::Tracing.active_span.get_tag("id")]
    end
  end
end
