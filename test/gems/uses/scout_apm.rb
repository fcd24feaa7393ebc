# frozen_string_literal: true

# The layers that its instruments make, and what is told of a request.
Gems.use "scout_apm" do
  setup do
    ENV.update("SCOUT_MONITOR" => "true", "SCOUT_KEY" => "x", "SCOUT_NAME" => "gems",
               "SCOUT_HOST" => Gems::URL, "SCOUT_LOG_FILE_PATH" => "STDERR",
               "SCOUT_LOG_LEVEL" => "fatal", "SCOUT_CORE_AGENT_LAUNCH" => "false")
    require "active_support/core_ext/object/blank" # of Rails, which it counts on
    require "scout_apm"
    ScoutApm::Agent.instance.install
  end
  answer do |id|
    request = ScoutApm::RequestManager.lookup
    request.start_layer(ScoutApm::Layer.new("Controller", id))
    ScoutApm::Context.add(id: id)
    Hunt.nap
    request.start_layer(ScoutApm::Layer.new("View", "inner #{id}"))
    Hunt.nap
    inner = ScoutApm::RequestManager.lookup.current_layer.name
    request.stop_layer
    kept = ScoutApm::RequestManager.lookup
    seen = [inner, kept.equal?(request), kept.current_layer.name, kept.context.to_hash[:id]]
    request.stop_layer
    [seen, ScoutApm::RequestManager.find.nil?]
  end
end
