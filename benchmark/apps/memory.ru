# frozen_string_literal: true

# GET / answers at once. GET /sleep/10 answers after 10 s of plain `sleep`. GET /events begins an
# event stream, which then stays silent for 30 s.
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

# Its reader waits for the next event.
class Events
  QUIET_SECONDS = 30

  def each
    yield "data: hello\n\n"
    sleep(QUIET_SECONDS)
  end
end

run(lambda do |env|
  path = env["PATH_INFO"]
  if path == "/events"
    next [200, { "content-type" => "text/event-stream", "cache-control" => "no-cache" }, Events.new]
  end

  sleep(path.delete_prefix("/sleep/").to_f) if path.start_with?("/sleep/")
  [200, { "content-type" => "text/plain" }, ["Hello World"]]
end)
