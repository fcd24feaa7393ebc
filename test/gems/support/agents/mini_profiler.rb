# frozen_string_literal: true

require "rack-mini-profiler"

# Sends what the profiler keeps of a request.
class AppAgents::ProfilerStore < Rack::MiniProfiler::MemoryStore
  def save(page)
    Net::HTTP.post(AppAgents::SINK, page.to_json)
    super
  end
end

Rack::MiniProfiler.config.storage_instance = AppAgents::ProfilerStore.new
Rack::MiniProfiler.config.authorization_mode = :allow_all

class AppAgents::OfMiniProfiler < AppAgents::Agent
  def around(application)
    Rack::MiniProfiler.config.user_provider = ->(env) { env["PATH_INFO"] }
    Rack::MiniProfiler.new(application)
  end

  def span(name, &block) = Rack::MiniProfiler.step(name) { block.call }

  def carry
    AppAgents::Tasks.carry(:mini_profiler) do
      context = Rack::MiniProfiler.current.dup
      ->(&work) { (Rack::MiniProfiler.current = context) && work.call } if context
    end
  end
end
