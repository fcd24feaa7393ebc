# frozen_string_literal: true

Gems.use "opentelemetry-sdk" do
  requires "opentelemetry/sdk"
  setup do
    ENV["OTEL_TRACES_EXPORTER"] = "none"
    OpenTelemetry::SDK.configure
    TRACER = OpenTelemetry.tracer_provider.tracer("gems")
  end
  answer do |id|
    TRACER.in_span(id) do |outer|
      Hunt.nap
      TRACER.in_span("inner") { |inner|
        [inner.parent_span_id == outer.context.span_id, OpenTelemetry::Trace.current_span.name]
      } + [OpenTelemetry::Trace.current_span.name]
    end
  end
end
