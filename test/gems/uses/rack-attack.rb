# frozen_string_literal: true

Gems.use "rack-attack" do
  requires "rack/attack", "active_support", "active_support/cache"
  app do
    Rack::Attack.cache.store = ActiveSupport::Cache::MemoryStore.new
    Rack::Attack.throttle("ids", limit: 1, period: 3_600) do |request|
      request.path if request.path.end_with?("7")
    end
    Rack::Attack.blocklist("bad") { |request| Hunt.nap && request.path.end_with?("3") }
    Rack::Attack.new(->(env) { Hunt.nap && [200, {}, [env["PATH_INFO"]]] })
  end
end
