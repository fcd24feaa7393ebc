# frozen_string_literal: true

# A program of the claim `mysql`. It repeats the same work with mysql2, many at once, in one of four
# ways: one after the other, threads, NeverBlock's fibers, Async.

require_relative "crowd"

# One path is one kind of work; a number at its end is how long the database sleeps, in ms.
class Queries < Crowd
  POOL = 20
  EVERY = 5
  MIXED_MS = 300

  def initialize(path, **options)
    super("http://localhost#{path}", **options)
    @work = method(path[/\w+/])
    @ms = path[/\d+\z/].to_i
    @places = Thread::Queue.new(Array.new([POOL, options[:size]].min))
    @asked = 0
  end

  def ask
    start = Measured.now
    @in_flight_max = [@in_flight_max, @in_flight += 1].max
    fail!("a wrong answer") unless @work.call == "right"
  rescue StandardError => e
    fail!(e.class.name)
  ensure
    note(start)
  end

  private

  def connect
    require "mysql2"
    Mysql2::Client.new(host: "127.0.0.1", port: Integer(ENV.fetch("NB_BENCH_MYSQL_PORT"), 10),
                       username: "root", database: "test", as: :array)
  end

  # A pool; connected when it is first needed.
  def hold
    connection = @places.pop || connect
    yield connection
  ensure
    @places << connection
  end

  def short
    hold { |connection| connection.query("select 'right'").first.first }
  end

  def sleeping
    hold do |connection|
      connection.query("select if(sleep(#{@ms / 1000.0}), '', 'right')").first.first
    end
  end

  def mixed
    long = ((@asked += 1) % EVERY).zero?
    hold do |connection|
      connection.query(
        long ? "select if(sleep(#{MIXED_MS / 1000.0}), '', 'right')" : "select 'right'"
      ).first.first
    end
  end

  # Each with a connection of its own.
  def prepared
    connection = connect
    connection.prepare("select if(sleep(?), '', 'right')").execute(@ms / 1000.0).first.first
  ensure
    connection&.close
  end
end

# Each way takes the queries and asks until there is no more.
class Ways
  class Blocking
    def version
      require "mysql2"
      "mysql2 #{Mysql2::VERSION}, client #{Mysql2::Client.info[:version]}"
    end

    def call(queries)
      queries.slot
    end
  end

  class Threads < Blocking
    def call(queries)
      Array.new(queries.size) { Thread.new { queries.slot } }.each(&:join)
    end
  end

  class Fibers < Blocking
    def version
      require "neverblock"
      "#{NeverBlock::VERSION}, #{super}"
    end

    def call(queries)
      require "neverblock"
      NB.run { queries.size.times { Fiber.schedule { queries.slot } } }
    end
  end

  class AsyncTasks < Blocking
    def version
      require "async"
      "#{Async::VERSION}, #{super}"
    end

    def call(queries)
      require "async"
      require "io/stream/shim/timeout" unless IO.method_defined?(:timeout)
      Sync { |top| Array.new(queries.size) { top.async { queries.slot } }.each(&:wait) }
    end
  end

  WAYS = { "blocking" => Blocking, "threads" => Threads, "fibers" => Fibers,
           "async" => AsyncTasks }.freeze

  def initialize(way)
    @way = WAYS.fetch(way).new
  end

  def version
    @way.version
  end

  def run(job)
    Queries.new("/short", size: job[:connections],
                seconds: job[:warmup_seconds]).measure { |queries| @way.call(queries) }
    Queries.new(job[:path], size: job[:connections], seconds: job[:seconds]).measure do |queries|
      @way.call(queries)
    end
  end
end

require "mysql2"
Measured.run { |way| Ways.new(way) }
