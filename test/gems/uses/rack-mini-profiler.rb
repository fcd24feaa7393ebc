# frozen_string_literal: true

Gems.use "rack-mini-profiler" do
  requires "rack", "rack-mini-profiler"
  app do
    Rack::MiniProfiler.config.storage = Rack::MiniProfiler::MemoryStore
    inner = ->(env) {
      Rack::MiniProfiler.step("a") { Hunt.nap } &&
        [200, { "content-type" => "text/plain" },
         [env["PATH_INFO"], Rack::MiniProfiler.current.class.name]]
    }
    Rack::MiniProfiler.new(->(env) { inner.call(env) }).then do |profiler|
      ->(env) {
        profiler.call(env).tap { |found|
          found[1].delete_if { |name, _| name.match?(/mini-?profiler|cookie|server-timing/i) }
        }
      }
    end
  end
end
