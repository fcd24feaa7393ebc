# frozen_string_literal: true

Gems.use "datadog" do
  setup do
    ENV.update("DD_TRACE_ENABLED" => "true", "DD_REMOTE_CONFIGURATION_ENABLED" => "false",
               "DD_INSTRUMENTATION_TELEMETRY_ENABLED" => "false",
               "DD_TRACE_STARTUP_LOGS" => "false")
    require "datadog"
    Datadog.configure do |config|
      config.logger.level = Logger::FATAL
      config.tracing.test_mode.enabled = true
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
