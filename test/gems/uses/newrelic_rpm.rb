# frozen_string_literal: true

Gems.use "newrelic_rpm" do
  setup do
    ENV.update("NEW_RELIC_AGENT_ENABLED" => "true", "NEW_RELIC_MONITOR_MODE" => "false",
               "NEW_RELIC_LICENSE_KEY" => "x" * 40, "NEW_RELIC_APP_NAME" => "gems",
               "NEW_RELIC_LOG" => "stderr", "NEW_RELIC_LOG_LEVEL" => "warn")
    require "newrelic_rpm"
    NewRelic::Agent.manual_start(sync_startup: true, monitor_mode: false)
  end
  answer do |id|
    NewRelic::Agent::Tracer.in_transaction(name: "gems/#{id}", category: :web) do
      NewRelic::Agent.add_custom_attributes(id: id)
      NewRelic::Agent::Tracer.in_transaction(name: "inner", category: :web) { Hunt.nap }
      NewRelic::Agent::Tracer.current_transaction.then do |transaction|
        [transaction.best_name.to_s[/gems.*/], transaction.class]
      end
    end
  end
end
