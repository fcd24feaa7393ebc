# frozen_string_literal: true

ENV.update("NEW_RELIC_LICENSE_KEY" => "x" * 40, "NEW_RELIC_APP_NAME" => "shop",
           "NEW_RELIC_HOST" => AppAgents::SINK.host,
           "NEW_RELIC_PORT" => AppAgents::SINK.port.to_s,
           "NEW_RELIC_CA_BUNDLE_PATH" => ENV.fetch("NB_AGENTS_AUTHORITY"),
           "NEW_RELIC_LOG" => "stderr", "NEW_RELIC_LOG_LEVEL" => "error",
           "NEW_RELIC_DISTRIBUTED_TRACING_SAMPLER_REMOTE_PARENT_SAMPLED" => "always_on",
           "NEW_RELIC_DISABLE_SAMPLERS" => "true")
require "newrelic_rpm"
NewRelic::Agent.manual_start(sync_startup: true)

# It watches what Rack::Builder runs.
class AppAgents::OfNewRelic < AppAgents::Agent
  def around(application)
    lambda do |env|
      application.call(env)
    rescue StandardError => e
      NewRelic::Agent.notice_error(e)
      raise
    end
  end

  def identify(id)
    NewRelic::Agent.set_user_id(id)
    NewRelic::Agent.add_custom_attributes(request: id)
  end

  def note(text) = NewRelic::Agent.add_custom_span_attributes(note: text)
  def report(error) = NewRelic::Agent.notice_error(error)

  def span(name, &block)
    segment = NewRelic::Agent::Tracer.start_segment(name: name)
    NewRelic::Agent::Tracer.capture_segment_error(segment, &block)
  ensure
    segment&.finish
  end
end
