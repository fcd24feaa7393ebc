# frozen_string_literal: true

# The smallest Rack application: the hand-off between threads is most of what differs.
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

run(->(_env) { [200, { "content-type" => "text/plain" }, ["Hello World"]] })
