# frozen_string_literal: true

# The application of stalls_hunt_test.rb. Each answer of GET /KIND/ID/... is "ID|VALUE". The value
# proves that the work between was right.
# NB_HUNT_POSTGRESQL is the port of a database, NB_HUNT_STRESS_S the length of each window of
# GC.stress in seconds, NB_HUNT_WITNESS the path of a UNIX socket.

require "digest/sha2" # with threads, a digest that is loaded at its first use may be met half made
require "fiddle"
require "pg"
require "sequel"
require "sqlite3"
require "tempfile"
require "neverblock"
require_relative "books"
require_relative "work"
Sequel.extension :neverblock

module StallsHunt
  # Calls that keep their thread, all for as long as they are told.
  module Calls
    sleeping = Fiddle::Handle::DEFAULT["usleep"]
    WITHOUT_LOCK = Fiddle::Function.new(sleeping, [Fiddle::TYPE_INT], Fiddle::TYPE_INT,
                                        need_gvl: false)
    WITH_LOCK = Fiddle::Function.new(sleeping, [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
    FLOCK = Fiddle::Function.new(Fiddle::Handle::DEFAULT["flock"],
                                 [Fiddle::TYPE_INT, Fiddle::TYPE_INT], Fiddle::TYPE_INT,
                                 need_gvl: false)
    # What a thread of the application's has locked most of the time.
    FILE = Tempfile.new("hunt-lock")
    HELD_S = 0.015

    module_function

    def usleep(microseconds) = WITHOUT_LOCK.call(microseconds)
    def keeping_the_lock(microseconds) = WITH_LOCK.call([microseconds, 3_000].min)
    def holding(microseconds) = NeverBlock.neverblock(false) { sleep(microseconds / 1e6) }
    def blocking(microseconds) = NeverBlock::Compat.blocking { sleep(microseconds / 1e6) }

    def flock(_microseconds)
      File.open(FILE.path) { |file| FLOCK.call(file.fileno, File::LOCK_SH) }
    end

    # The holder waits for nothing that a waiter for its lock may hold.
    def start_holder
      Thread.new do
        Thread.current.name = "hunt holder"
        File.open(FILE.path, "r+") do |file|
          loop do
            FLOCK.call(file.fileno, File::LOCK_EX) && sleep(HELD_S) &&
              FLOCK.call(file.fileno, File::LOCK_UN) && sleep(HELD_S / 5)
          end
        end
      end
    end
  end

  # One pool for all, too small for the load. Requests wait in its queue, and are preempted while
  # they hold a connection.
  class Databases
    POOL = 6
    WAIT_S = 600
    ROWS = 120
    # A token is compared in SQL as well, so that a row of another's cannot look right.
    TOKEN = "select '%<token>s'::text as token"
    MANY =
      "select '%<token>s'::text as token, number from generate_series(1, #{ROWS}) number".freeze

    def initialize(port)
      @pool = NeverBlock::Pool::FiberedConnectionPool.new(size: POOL, timeout: WAIT_S) do
        PG.connect(host: "127.0.0.1", port: port, user: "postgres", dbname: "postgres",
                   sslmode: "disable")
      end
      @database = Sequel.connect("postgres://postgres@127.0.0.1:#{port}/postgres",
                                 max_connections: POOL, pool_timeout: WAIT_S, test: false)
      @database.run("create table if not exists hunted (token text)")
    end

    def pg_short(token, _size)
      @pool.hold { |connection| connection.exec_params("select $1::text", [token]).getvalue(0, 0) }
    end

    def pg_rows(token, size)
      tokens = @pool.hold do |connection|
        rows = connection.exec(format(MANY, token: token))
        rows.map { |row| Work.spin(size * 5) && row["token"] }
      end
      tokens.uniq.join
    end

    def pg_write(token, size)
      @pool.hold do |connection|
        connection.transaction do
          connection.exec_params("insert into hunted values ($1)", [token])
          Work.spin(size * 3_000)
          connection.exec_params("delete from hunted where token = $1 returning token",
                                 [token]).values.join
        end
      end
    end

    def sequel_short(token, _size) = @database[format(TOKEN, token: token)].get(:token)

    def sequel_rows(token, size)
      rows = @database[format(MANY, token: token)]
      rows.map { |row| Work.spin(size * 5) && row[:token] }.uniq.join
    end

    def sequel_write(token, size)
      @database.transaction do
        @database[:hunted].insert(token: token)
        Work.spin(size * 3_000)
        @database[:hunted].where(token: token).returning.delete.map { |row| row[:token] }.join
      end
    end

    # SQLite calls Ruby back, with its connection locked.
    def sqlite(token, size)
      database = SQLite3::Database.new(":memory:")
      database.create_function("computed", 1) do |function, text|
        function.result = Work.spin(size * 300) && text
      end
      database.execute("select computed(?) as token union select computed(?)", [token, token]).join
    ensure
      database&.close
    end

    def left
      @database[:hunted].count
    end
  end

  # A body whose parts are computed while it is sent.
  class Parts
    def initialize(books, parts)
      @books = books
      @parts = parts
      books.count(:"bodies begun")
    end

    def each
      @parts.each { |part| Work.spin(300) && yield(part) }
    end

    def close
      @books.count(:"bodies ended")
    end
  end

  class App
    TEXT = { "content-type" => "text/plain" }.freeze
    # Of each kind of call that keeps its thread, every so many.
    CALLS = %w[usleep flock holding blocking keeping_the_lock].freeze
    SEATS = 3

    # @param rails [#call, nil] what has the rest
    def initialize(rails = nil)
      @rails = rails
      @books = Books.new
      @databases = Databases.new(Integer(ENV.fetch("NB_HUNT_POSTGRESQL"), 10))
      @mutex = Mutex.new
      @monitor = Monitor.new
      @queue = Queue.new
      @bounded = SizedQueue.new(2)
      @seats = SEATS
      @seats_lock = Mutex.new
      @seat_free = ConditionVariable.new
      @inside = Hash.new(0)
      start_beside
    end

    def call(env)
      _, kind, id, size, name = env["PATH_INFO"].split("/")
      return [200, TEXT, ["#{id}|hello"]] if kind == "hello"
      if kind == "books"
        return [200, TEXT, [JSON.generate(@books.told.merge(rows: @databases.left))]]
      end

      env["rack.response_finished"]&.push(->(*) { @books.count(:finished) })
      @books.within(:requests) { answer(env, kind, id, size.to_i, name) }
    end

    private

    def start_beside
      Calls.start_holder
      Witness.start(ENV.fetch("NB_HUNT_WITNESS"))
      window_s = ENV.fetch("NB_HUNT_STRESS_S", "0").to_f
      Stress.start(window_s, @books) if window_s.positive?
    end

    # Routes of one name with a lane's, which run on threads.
    def answer(env, kind, id, size, name)
      case kind
      when "work", "lane" then text(id, Work.value(name, size))
      when "shared" then text(id, send(:"shared_#{name}", id, size))
      when "call" then text(id, Calls.public_send(name, size) && name)
      when "database" then text(id, @databases.public_send(name, id, size))
      when "stream" then stream(id, size, name)
      when "upload", "taken" then text(id, upload(env["rack.input"]))
      when "file" then file(id, size)
      else @rails ? @rails.call(env) : [404, TEXT, ["nothing here"]]
      end
    end

    def text(id, value)
      [200, TEXT, ["#{id}|#{value}"]]
    end

    # Who is in here is alone, or one of so many.
    def alone(what, most = 1)
      @books.fault("#{what}: #{@inside[what]} inside already") if (@inside[what] += 1) > most
      yield
    ensure
      @inside[what] -= 1
    end

    # --- What requests share ---

    def shared_mutex(id, size)
      @mutex.synchronize { alone(:mutex) { Work.spin(size * 500) && id } }
    end

    def shared_monitor(id, size)
      @monitor.synchronize do
        Work.spin(size * 200) &&
          @monitor.synchronize { alone(:monitor) { Work.spin(size * 200) && id } }
      end
    end

    def shared_seats(id, size)
      @seats_lock.synchronize do
        (@seat_free.wait(@seats_lock) until @seats.positive?) || @seats -= 1
      end
      Work.spin(size * 300) && id
    ensure
      @seats_lock.synchronize { (@seats += 1) && @seat_free.signal }
    end

    # Each puts something in and takes something out.
    def shared_queue(id, size)
      number = Work.digest(id)
      @queue << number
      Work.spin(size * 300)
      @books.count(:queued, number - @queue.pop)
      id
    end

    def shared_bounded(id, size)
      taker = Thread.new { Work.spin(size * 100) && @bounded.pop }
      @bounded << Work.digest(id)
      @books.count(:"queued in turn", Work.digest(id) - taker.value)
      id
    end

    def shared_locals(id, size)
      Thread.current[:hunt] = id
      Thread.current.thread_variable_get(:none)
      Fiber[:hunt] = id if Fiber.respond_to?(:[])
      Work.spin(size * 400)
      seen = [Thread.current[:hunt], (Fiber[:hunt] if Fiber.respond_to?(:[]))].compact.uniq
      Thread.current[:hunt] = nil
      seen.join
    end

    # What is over comes where the request next waits, and once.
    def shared_timeout(id, size)
      Timeout.timeout(0.003) { @books.within(:timeouts) { Work.spin(size * 1_500) && sleep(600) } }
      "slept"
    rescue Timeout::Error
      @books.within(:waits) { sleep(0.001) && id }
    end

    def shared_deadline(id, size)
      NeverBlock.deadline(0.004) do
        @books.within(:deadlines) do
          Work.spin(size * 1_500) && @seats_lock.synchronize { sleep(600) }
        end
      end
      "slept"
    rescue NeverBlock::DeadlineExceeded
      Work.spin(size * 200) && id
    end

    def shared_all(id, size)
      NeverBlock.all(*Array.new(3) { |n| -> { Work.spin(size * 200 * n) && sleep(0.001) && id } })
                .uniq.join
    end

    # One task fails while others compute.
    def shared_failing(id, size)
      NeverBlock.all(-> { Work.spin(size * 300) && @books.within(:tasks) { sleep(600) } },
                     -> { Work.spin(size * 200) && raise(IOError, id) })
    rescue IOError => e
      e.message
    end

    def shared_offload(id, size)
      NeverBlock.offload { Work.spin(size * 300) && id }
    end

    def shared_thread(id, size)
      Thread.new { Work.spin(size * 300) && id }.value
    end

    # One fiber of the request raises into another, wherever that is.
    def shared_raised(id, size)
      told = Queue.new
      fiber = Fiber.schedule do
        @books.within(:raises) { Work.spin(size * 300) && sleep(600) }
      rescue StandardError => e
        told << e.message
      end
      Work.spin(size * 100)
      fiber.raise(IOError, id)
      told.pop
    end

    # For those whose client leaves.
    def shared_left(id, size)
      @books.within(:left) { 20.times { Work.spin(size * 200) && sleep(0.001) } }
      id
    end

    # --- Bodies ---

    def stream(id, size, name)
      parts = Array.new(size) { |n| n.zero? ? "#{id}|" : "#{id};" }
      return [200, TEXT, Parts.new(@books, parts)] if name == "parts"

      if name == "enumerator"
        body = Enumerator.new { |out| parts.each { |part| Work.spin(200) && out << part } }
        return [200, TEXT, body]
      end

      body = lambda do |out|
        @books.within(:streams) do
          parts.each { |part| Work.spin(200) && out.write(part) } && out.close
        end
      end
      [200, TEXT, body]
    end

    def upload(input)
      digest = Digest::SHA256.new
      while (part = input.read(4_096))
        digest << part
        Work.spin(50)
      end
      digest.hexdigest
    end

    # Written, read, and sent by name.
    def file(id, size)
      file = Tempfile.new("hunt-file")
      File.write(file.path, "#{id}|")
      File.open(file.path, "a") { |out| size.times { out.write("#{id};") && Work.spin(100) } }
      unless File.read(file.path).count(";") == size
        @books.fault("a file of #{File.size(file.path)} bytes")
      end
      [200, TEXT, Sent.new(file)]
    end

    # Unlinked when it is closed.
    Sent = Struct.new(:file) do
      def to_path = file.path
      def each = yield(File.read(to_path))
      def close = file.close!
    end
  end
end
