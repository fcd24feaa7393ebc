# frozen_string_literal: true

# /fibers.json and `neverblock fibers`: each request that is held is found with what it waits for
# and the application's line, also while its executor is stuck.

require "json"
require "mysql2"
require "pg"
require "redis"
require "socket"
require "sqlite3"
require_relative "../support/fibers_case"
require_relative "../support/http_client"
require_relative "../support/patience"
require_relative "../support/services"

class FibersTest < FibersCase
  %w[queue condition thread fibers offload io].each do |kind|
    define_method("test_a_wait_for_#{kind}_is_shown_with_its_line") do
      under_way(kind) do |tag|
        fiber = waiting(kind, tag, kind: kind)
        assert_operator fiber["waits_for"]["for_s"], :>=, 0
        assert_match line_of(kind), traced(kind, tag)["line"]
      end
    end
  end

  def test_a_sleep_is_shown_with_the_time_left
    under_way("sleep") do |tag|
      fiber = waiting("sleep", tag, kind: "sleep")
      assert_includes 3000..3600, fiber["waits_for"]["left_s"]
      assert_match line_of("sleep"), traced("sleep", tag)["line"]
    end
  end

  def test_a_lock_is_shown_with_its_holder_and_line
    under_way("holder") do |holder|
      waiting("holder", holder, kind: "queue")
      under_way("lock", release: -> { ask("/release/#{holder}") }) do |tag|
        fiber = waiting("lock", tag, kind: "lock")
        assert_equal "/holder/#{holder}", fiber.dig("waits_for", "holder", "path")
        assert_match line_of("lock"), traced("lock", tag)["line"]
      end
    end
  end

  def test_a_pools_line_is_shown
    under_way("pool") do |first|
      waiting("pool", first, kind: "queue")
      second = new_tag
      let_both_go = -> { [first, second].each { |tag| ask("/release/#{tag}") } }
      under_way("pool", second, release: let_both_go) { |tag| waiting("pool", tag, kind: "pool") }
    end
  end

  def test_a_library_says_what_its_wait_is_for
    under_way("named") do |tag|
      waiting("named", tag, kind: "pool", name: "tickets")
    end
    under_way("unknown") { |tag| waiting("unknown", tag, kind: "queue") }
  end

  def test_a_child_process_is_shown_by_its_number
    fifo = make_fifo(tag = new_tag)
    under_way("process", tag, release: -> { write_fifo(fifo) }) do
      assert_operator waiting("process", tag, kind: "process").dig("waits_for", "process"), :>, 1
    end
  end

  def test_an_http_request_is_shown_by_host_and_port
    TCPServer.open("127.0.0.1", 0) do |silent|
      port = silent.local_address.ip_port
      client = nil
      answer = lambda do
        client&.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        client&.close
      end
      under_way("http", port.to_s, release: answer) do |tag|
        client = silent.accept
        waiting("http", tag, kind: "http", address: "127.0.0.1:#{port}", direction: "read")
        assert_match line_of("http"), traced("http", tag)["line"]
      end
    end
  end

  def test_a_client_that_reads_slowly_is_shown
    connect do |slow|
      slow.write(request("/big/#{tag = new_tag}"))
      waiting("big", tag, kind: "client")
    end
  end

  def test_the_query_is_shown_only_when_it_is_asked_for
    under_way("queue") do |tag|
      refute_includes waiting("queue", tag, kind: "queue").keys, "query"
      assert_equal "secret=1", waiting("queue", tag, "?query=1", kind: "queue")["query"]
    end
  end

  def test_no_more_than_the_limit_are_shown_and_the_oldest_first
    under_way("queue") do |first|
      waiting("queue", first, kind: "queue")
      under_way("queue") do |second|
        waiting("queue", second, kind: "queue")
        answer = document("?limit=1")
        assert_equal ["/queue/#{first}"], answer["fibers"].map { |fiber| fiber["path"] }
        assert_equal 1, answer["left_out"]
        assert_equal 2, answer["waits"]["queue"]
      end
    end
  end

  def test_a_fiber_of_a_request_is_shown_with_it
    under_way("fibers") do |tag|
      waiting("fibers", tag, kind: "fibers")
      helper = document["fibers"].find { |fiber| fiber["fiber"] == "helper" }
      assert_equal ["/fibers/#{tag}", "queue"], [helper["path"], helper["waits_for"]["kind"]]
    end
  end

  def test_what_has_ended_is_not_shown
    under_way("queue") { |tag| waiting("queue", tag, kind: "queue") }
    Patience.await("nothing is under way") { document["fibers"].empty? }
    assert_empty document["waits"]
  end

  def test_a_ruby_loop_is_shown_with_its_line_and_so_is_who_waits_for_a_lock
    fifo = make_fifo(loop_tag = new_tag)
    under_way("holder") do |holder|
      waiting("holder", holder, kind: "queue")
      release = -> { ask("/release/#{holder}") }
      under_way("lock", release: release) do |tag|
        waiting("lock", tag, kind: "lock")
        under_way("ruby", loop_tag, release: -> { @open = open_fifo(fifo) }) do
          assert_match line_of("ruby"), traced("ruby", loop_tag)["line"]
          assert_match line_of("lock"), traced("lock", tag)["line"]
        end
      end
    end
  end

  def test_while_a_c_call_keeps_ruby_the_waits_are_shown_with_traces_taken_before
    fifo = make_fifo(stuck_tag = new_tag)
    under_way("holder") do |holder|
      waiting("holder", holder, kind: "queue")
      under_way("lock", release: -> { ask("/release/#{holder}") }) do |tag|
        traced("lock", tag)
        under_way("c_call", stuck_tag, release: -> { @open = open_fifo(fifo) }) do
          stuck = found("c_call", stuck_tag) { |fiber| fiber["stalls_in"] }
          assert_equal %w[running c_call], stuck.values_at("state", "stalls_in")
          assert_match line_of("c_call"), stuck["line"]
          fiber = waiting("lock", tag, "?backtrace=1", kind: "lock")
          assert_equal "/holder/#{holder}", fiber.dig("waits_for", "holder", "path")
          assert_match line_of("lock"), fiber["line"]
          status, out = command("--backtrace", "--route", "/lock").values_at(2, 0)
          assert_equal 0, status.exitstatus
          assert_match(/^an executor is stuck/, out)
        end
      end
    end
  end

  NONE = /\Ano fiber to show: (the only one is not|none of \d+ is) as the options say$/

  def test_the_command_shows_a_table_and_filters
    under_way("queue") do |tag|
      waiting("queue", tag, kind: "queue")
      out, err, status = command("--waits-for", "queue", "--backtrace")
      assert_equal [0, ""], [status.exitstatus, err]
      assert_match(/\A1 (of \d+ )?fibers?: 1 waiting \(1 queue\)\n\nrequest .* line\n/, out)
      assert_match(%r{^GET /queue/#{tag} .* waits for a queue +.*:\d+$}, out)
      assert_match(/backtrace of \d.* ago\n    \S+:\d+:in /, out)
      assert_match NONE, command("--state", "running").first
      assert_match NONE, command("--older-than", "1e6").first
      assert_match NONE, command("--route", "/other").first
    end
  end

  def test_the_command_as_json_is_the_servers_document_with_the_fibers_that_are_wanted
    under_way("queue") do |tag|
      waiting("queue", tag, kind: "queue")
      found = JSON.parse(command("--json", "--route", "/queue", "--query").first)["fibers"]
      assert_equal [["/queue/#{tag}", "secret=1"]], found.map { |one|
        one.values_at("path", "query")
      }
      assert_empty JSON.parse(command("--json", "--state", "ready").first)["fibers"]
    end
  end
end

# A client's body that comes in parts.
class FibersOfUploadsTest < FibersCase
  def self.options
    path = File.join(directory, "neverblock.rb")
    File.write(path, "route '/upload/*', input: :stream\n")
    ["-C", path]
  end

  def self.app
    <<~RACKUP
      run ->(env) { [200, {}, [env["rack.input"].read]] }
    RACKUP
  end

  def test_a_wait_for_the_rest_of_a_body_is_shown
    connect do |client|
      client.write("POST /upload/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfi")
      waiting("upload", "1", kind: "client_body")
      client.write("bre")
      assert_equal "fibre", client.response.body
    end
  end
end

# A query that another connection's lock keeps waiting.
class FibersOfDatabaseTest < FibersCase
  def self.app
    <<~RACKUP
      require "pg"
      server = { host: "127.0.0.1", port: #{Services.postgresql.port}, user: "postgres" }
      run ->(env) {
        connection = PG.connect(**server, dbname: "postgres")
        connection.exec("SELECT pg_advisory_xact_lock(36)")
        [200, {}, ["done"]]
      }
    RACKUP
  end

  def test_a_query_is_shown_by_its_driver_and_address
    port = Services.postgresql.port
    keeper = PG.connect(host: "127.0.0.1", port: port, user: "postgres", dbname: "postgres")
    keeper.exec("SELECT pg_advisory_lock(36)")
    under_way("query", release: -> { keeper.close unless keeper.finished? }) do |tag|
      await_query("query", tag, /config\.ru:5\z/, driver: "pg", address: "127.0.0.1:#{port}")
    end
  end
end

# Each driver with a request of its own that somebody keeps waiting.
class FibersOfDriversTest < FibersCase
  # What keeps each waiting, and what lets it go. The tag names the lock, the list, or the port.
  HELD = {
    "mysql2" => "MYSQL2.call.query(\"SELECT GET_LOCK('\#{tag}', 3600)\")",
    "trilogy" => "TRILOGY.call.query(\"SELECT GET_LOCK('\#{tag}', 3600)\")",
    "sequel_mysql2" => "SEQUEL[\"SELECT GET_LOCK('\#{tag}', 3600) AS got\"].first",
    "redis" => "Redis.new(**REDIS).blpop(tag)",
    "redis_client" => "RedisClient.config(**REDIS).new_client.blocking_call(nil, 'BLPOP', tag, 0)",
    "net_http_block" => "Net::HTTP.start('127.0.0.1', tag) { |http| http.get('/') }",
    "faraday" => "Faraday.get(\"http://127.0.0.1:\#{tag}/\")",
    "sqlite3" => "SQLite3::Database.new(FILE).tap { |db| db.busy_timeout(3_600_000) }" \
                 ".execute('INSERT INTO notes VALUES (1)')"
  }.freeze
  SQLITE = File.join(directory, "notes.sqlite3")

  class << self
    def app
      cases = HELD.map { |kind, code| "  when \"#{kind}\"\n    #{code}" }.join("\n")
      <<~RACKUP
        require "faraday"
        require "mysql2"
        require "net/http"
        require "redis"
        require "sequel"
        require "sqlite3"
        require "trilogy"
        MARIADB = { host: "127.0.0.1", port: #{Services.mariadb.port}, username: "root",
                    database: "test" }
        REDIS = { host: "127.0.0.1", port: #{Services.redis.port} }
        FILE = #{SQLITE.inspect}
        MYSQL2 = -> { Mysql2::Client.new(**MARIADB) }
        TRILOGY = -> { Trilogy.new(**MARIADB) }
        SEQUEL = Sequel.connect(adapter: "mysql2", user: "root", **MARIADB.except(:username))
        run ->(env) {
          _, kind, tag = env["PATH_INFO"].split("/")
          case kind
        #{cases}
          end
          [200, {}, ["done"]]
        }
      RACKUP
    end
  end

  %w[mysql2 trilogy sequel_mysql2].each do |kind|
    define_method("test_a_query_of_#{kind}_is_shown_by_its_driver_and_address") do
      keeper = Mysql2::Client.new(host: "127.0.0.1", port: Services.mariadb.port,
                                  username: "root", database: "test")
      keeper.query("SELECT GET_LOCK('#{tag = new_tag}', 0)")
      under_way(kind, tag, release: -> { keeper.close }) do
        await_query(kind, tag, line_of(kind), driver: kind.delete_prefix("sequel_"),
                                              address: "127.0.0.1:#{Services.mariadb.port}")
      end
    end
  end

  %w[redis redis_client].each do |kind|
    define_method("test_a_command_of_#{kind}_is_shown_by_its_driver_and_address") do
      push = ->(tag) { Redis.new(port: Services.redis.port).rpush(tag, "go") }
      under_way(kind, tag = new_tag, release: -> { push.call(tag) }) do
        waiting(kind, tag, kind: "database", driver: "redis",
                           address: "127.0.0.1:#{Services.redis.port}")
        assert_match line_of(kind), traced(kind, tag)["line"]
      end
    end
  end

  %w[net_http_block faraday].each do |kind|
    define_method("test_a_request_of_#{kind}_is_shown_by_host_and_port") do
      TCPServer.open("127.0.0.1", 0) do |silent|
        port = silent.local_address.ip_port
        client = nil
        answer = -> { client.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        under_way(kind, port.to_s, release: answer) do |tag|
          client = silent.accept
          waiting(kind, tag, kind: "http", address: "127.0.0.1:#{port}", direction: "read")
          assert_match line_of(kind), traced(kind, tag)["line"]
        end
      ensure
        client&.close
      end
    end
  end

  # Each wait for it is too short for a backtrace.
  def test_sqlite3s_write_lock_is_shown
    keeper = SQLite3::Database.new(SQLITE)
    keeper.execute("CREATE TABLE notes (id)")
    keeper.execute("BEGIN IMMEDIATE")
    under_way("sqlite3", release: -> { keeper.close unless keeper.closed? }) do |tag|
      waiting("sqlite3", tag, kind: "database", driver: "sqlite3")
    end
  end

  private

  def line_of(kind)
    text = self.class.app.lines.index { |line| line.include?(HELD.fetch(kind)) } + 1
    /:#{text}\z/
  end
end

# The front answers for all workers.
class FibersOfWorkersTest < FibersCase
  def self.options
    %w[-w 2]
  end

  def test_each_worker_is_shown_also_while_both_are_stuck
    tags = Array.new(2) { new_tag }
    fifos = tags.map { |tag| make_fifo(tag) }
    go = fifos.map { |fifo| -> { (@open ||= []) << open_fifo(fifo) } }
    child = make_fifo(waits = new_tag)
    under_way("process", waits, release: -> { write_fifo(child) }) do
      waiting("process", waits, kind: "process")
      traced("process", waits)
      under_way("c_call", tags[0], release: go[0]) do
        found("c_call", tags[0]) { |fiber| fiber["stalls_in"] == "c_call" }
        under_way("c_call", tags[1], release: go[1]) do
          found("c_call", tags[1]) { |fiber| fiber["stalls_in"] == "c_call" }
          shown = document["fibers"]
          assert_equal [0, 1], shown.select { |one|
            one["stalls_in"]
          }.map { |one| one["worker"] }.sort
          assert_equal 2, shown.map { |one| one["pid"] }.uniq.size
          assert_match line_of("process"), waiting("process", waits, kind: "process")["line"]
        end
      end
    end
  end
end
