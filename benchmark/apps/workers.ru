# frozen_string_literal: true

# The application that a cluster serves. GET / answers at once, /sleep/N after N microseconds.
# /loop/N burns CPU for N times some ten milliseconds. Each answer names its worker.
# NB_BENCH_HOLD=1: a sleep keeps its worker. It is for a server that cannot bound its requests at
# once (Falcon).
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

# Ten milliseconds of Ruby 3.1 with YJIT on a core of 2.5 GHz.
TURNS = 240_000
HOLD = ENV["NB_BENCH_HOLD"] == "1"

work = lambda do |times|
  sum = 0
  (times * TURNS).times { |turn| sum = (sum + turn) & 0xffff }
  sum
end

rest = ->(micros) {
  HOLD ? Fiber.new(blocking: true) { sleep(micros / 1e6) }.resume : sleep(micros / 1e6)
}

# Told by the first request: the application is loaded before its workers are forked.
worker = nil

run(lambda do |env|
  path = env["PATH_INFO"]
  unless path == "/"
    _, what, count = path.split("/")
    case what
    when "sleep" then rest.call(count.to_i)
    when "loop" then work.call(count.to_i)
    end
  end
  [200,
   { "content-type" => "text/plain", "content-length" => "11",
     "x-worker" => worker ||= Process.pid.to_s },
   ["Hello World"]]
end)
