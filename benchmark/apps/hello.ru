# frozen_string_literal: true

# The smallest Rack application: what is left is the cost of the server.
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

run(->(_env) { [200, { "content-type" => "text/plain" }, ["Hello World"]] })
