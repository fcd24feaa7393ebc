# frozen_string_literal: true

# Requests that end in the middle of a query, in the server: their client left, or their time is
# over. A pool of two, and a lock that the test holds in PostgreSQL.

require_relative "../support/server_process_case"
require_relative "../support/services"
require "pg"

class SequelServerTest < ServerProcessCase
  LOCK = 815
  POOL = 2

  class << self
    def app
      <<~RACKUP
        require "sequel"
        require "json"
        DB = Sequel.connect(ENV.fetch("DATABASE_URL"), max_connections: #{POOL})
        run(lambda do |env|
          case env["PATH_INFO"]
          when "/wait" then DB.transaction { DB["select pg_advisory_xact_lock(#{LOCK})"].all }
          when "/late"
            NB.deadline(0.2) do
              DB.transaction { DB["select pg_advisory_xact_lock(#{LOCK})"].all }
            end
          end
          n = DB["select ?::int as n", env["QUERY_STRING"].to_i].get
          told = JSON.generate({ n: n, size: DB.pool.size })
          [200, { "content-type" => "application/json" }, [told]]
        end)
      RACKUP
    end

    def server_options
      { options: ["-C", configuration], env: { "DATABASE_URL" => Services.postgresql.url } }
    end

    def configuration
      folder = Dir.mktmpdir("neverblock-sequel")
      Minitest.after_run { FileUtils.rm_rf(folder) }
      File.join(folder, "neverblock.rb").tap do |file|
        File.write(file, "cancel_on_disconnect true\n")
      end
    end
  end

  def setup
    @keeper = PG.connect(Services.postgresql.url)
    @keeper.exec("select pg_advisory_lock(#{LOCK})")
  end

  def teardown
    @keeper&.close
  end

  # How many queries stand at the lock.
  def await_waiting(count)
    Timeout.timeout(Patience::SECONDS) do
      sql = "select count(*) from pg_stat_activity where wait_event = 'advisory'"
      sleep 0.005 until count == Integer(@keeper.exec(sql).getvalue(0, 0), 10)
    end
  end

  def assert_served
    assert_equal [*1..10], (1..10).map { |number| parsed(ask("/?#{number}"))["n"] }
  end

  def test_clients_that_leave_while_they_have_all_connections_give_them_back_and_their_queries_end
    3.times do
      clients = Array.new(POOL) do
        Wire::Client.open(server.url).tap { |client| client.get("/wait") }
      end
      await_waiting(POOL)
      clients.each(&:close)
      await_waiting(0)
      assert_served
    end
    assert_operator parsed(ask("/?1"))["size"], :<=, POOL
  end

  def test_so_do_requests_whose_time_is_over
    3.times do
      connect do |client|
        client.get("/late")
        assert_equal 500, client.response.status
      end
      await_waiting(0)
      assert_served
    end
  end

  def test_who_is_behind_them_in_line_is_served_when_they_leave
    clients = Array.new(POOL) { Wire::Client.open(server.url).tap { |client| client.get("/wait") } }
    await_waiting(POOL)
    behind = Array.new(20) do |number|
      Wire::Client.open(server.url).tap { |client| client.get("/?#{number}") }
    end
    clients.each(&:close)
    assert_equal([*0...20], behind.map { |client| parsed(client.response)["n"] })
  ensure
    [*clients, *behind].each(&:close)
  end
end
