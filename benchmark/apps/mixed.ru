# frozen_string_literal: true

# GET /short runs a short query on PostgreSQL, /long one that takes LONG_MS. /mixed runs a long one
# every fifth time.
# The pool is a Thread::Queue, first come first served, because every server can wait for one.
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

require "pg"

POOL = Integer(ENV.fetch("NB_BENCH_POOL"), 10)
LONG_S = Integer(ENV.fetch("NB_BENCH_LONG_MS"), 10) / 1000.0
EVERY = 5

class Connections
  def initialize
    @places = Thread::Queue.new(Array.new(POOL))
  end

  # Connected when it is first needed: in the worker, and in its loop.
  def hold
    connection = @places.pop || PG.connect(ENV.fetch("DATABASE_URL"))
    yield connection
  ensure
    @places << connection
  end
end

connections = Connections.new
asked = 0

run(lambda do |env|
  long = case env["PATH_INFO"]
         when "/mixed" then ((asked += 1) % EVERY).zero?
         when "/long" then true
         when "/short" then false
         else next [200, { "content-type" => "text/plain" }, ["Hello World"]]
         end
  row = connections.hold do |connection|
    connection.exec(
      long ? "select pg_sleep(#{LONG_S}), 'long' as what" : "select 1, 'short' as what"
    ).first
  end
  [200, { "content-type" => "text/plain" }, [row["what"]]]
end)
