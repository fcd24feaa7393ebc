# frozen_string_literal: true

ENV.update("SCOUT_MONITOR" => "true", "SCOUT_KEY" => "x", "SCOUT_NAME" => "shop",
           "SCOUT_HOST" => AppAgents::SINK.to_s, "SCOUT_ERRORS_HOST" => AppAgents::SINK.to_s,
           "SCOUT_ERRORS_ENABLED" => "true", "SCOUT_LOG_FILE_PATH" => "STDERR",
           "SCOUT_LOG_LEVEL" => "fatal", "SCOUT_CORE_AGENT_LAUNCH" => "false")
require "active_support/core_ext/object/blank" # of Rails, which it counts on
require "scout_apm"
require "scout_apm/rack"

ScoutApm::Agent.instance.install

# Of its requests it sends sums and the slowest few. Of errors it sends each, once a minute.
class AppAgents::OfScout < AppAgents::Agent
  at_exit do
    context = ScoutApm::Agent.instance.context
    ScoutApm::ErrorService::PeriodicWork.new(context).run
  end

  def around(application)
    watched = ScoutApm::ErrorService::Middleware.new(application)
    ->(env) { ScoutApm::Rack.transaction("work", env) { watched.call(env) } }
  end

  def identify(id)
    ScoutApm::Context.add_user(id: id)
    ScoutApm::Context.add(request: id)
  end

  def note(text) = ScoutApm::Context.add(note: text)
  def report(error) = ScoutApm::Error.capture(error)
  def span(name, &block) = ScoutApm::Tracer.instrument("Step", name) { block.call }
end
