# frozen_string_literal: true

# GET /50 answers after 50 ms of plain `sleep`, GET /0 at once.
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

run(lambda do |env|
  delay_ms = env["PATH_INFO"].delete_prefix("/").to_i
  sleep(delay_ms / 1000.0) if delay_ms.positive?
  [200, { "content-type" => "text/plain" }, ["Hello World"]]
end)
