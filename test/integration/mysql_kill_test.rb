# frozen_string_literal: true

require "test_helper"
require "mysql2"
require "neverblock"
require "neverblock/db/mysql_kill"
require "trilogy"
require "support/held_relay"
require "support/patience"
require "support/services"

# A query that nobody waits for any more is ended in a real MariaDB, and nobody else's.
class MysqlKillTest < Minitest::Test
  # It waits for a row that the test holds. (A sleep ends by itself some time after its connection.)
  LONG = "select id from held where id = 1 for update"

  # So many queries are left at once.
  TOGETHER = 12

  # Lets everybody in and answers no query.
  class SilentServer
    GREETING = [10, "8.0.30", 7, "abcdefgh", 0xf7ff, 33, 2, 0x81ff, 21, "ijklmnopqrst",
                "mysql_native_password"].pack("CZ*Va8xvCvvCx10Z*Z*")
    OK = "\0\0\0\2\0\0\0"

    # @return [Thread::Queue] has an element for each connection; for each query
    attr_reader :greeted, :asked

    def initialize
      @greeted = Thread::Queue.new
      @asked = Thread::Queue.new
      @listener = TCPServer.new("127.0.0.1", 0)
      @threads = [Thread.new { loop { serve(@listener.accept) } }]
    end

    def port
      @listener.local_address.ip_port
    end

    def close
      @threads.each(&:kill).each(&:join)
      @listener.close
    end

    private

    def serve(client)
      @threads << Thread.new do
        client.write(packet(0, GREETING))
        client.readpartial(4096)
        client.write(packet(2, OK))
        @greeted << true
        @asked << client.readpartial(4096) while true
      rescue SystemCallError, IOError
        client.close
      end
    end

    def packet(number, body)
      [body.bytesize | (number << 24)].pack("V") + body
    end
  end

  # By driver: a connection.
  CONNECT = {
    "mysql2" => ->(options) { Mysql2::Client.new(username: "root", database: "test", **options) },
    "trilogy" => ->(options) { Trilogy.new({ username: "root", database: "test", **options }) }
  }.freeze

  def setup
    @seconds = NeverBlock::DB::MysqlKill.seconds
    NeverBlock::DB::MysqlKill.seconds = Patience::SECONDS
    @watcher = Mysql2::Client.new(username: "root", database: "test", **tcp)
    [
      "set global innodb_lock_wait_timeout = 100000",
      "create table if not exists held (id int primary key) engine = innodb",
      "insert ignore into held values (1)",
      "begin",
      LONG
    ].each { |sql| @watcher.query(sql) }
    @kills = kills
  end

  def teardown
    sessions.each { |number| @watcher.query("kill #{number}") }
    @watcher.query("set global innodb_lock_wait_timeout = default")
    @watcher.close
    NeverBlock::DB::MysqlKill.seconds = @seconds
  end

  CONNECT.each do |driver, connect|
    define_method("test_a_query_of_#{driver}_that_is_left_is_ended_in_the_server") do
      NB.run { leave(connect.call(tcp)) { |client| client.query(LONG) } }

      assert_equal 1, kills
      gone
    end

    named = "test_a_query_of_#{driver}_on_a_unix_socket_that_is_left_is_ended_in_the_server"
    define_method(named) do
      path = @watcher.query("select @@socket path").first["path"]
      NB.run { leave(connect.call(socket: path)) { |client| client.query(LONG) } }

      assert_equal 1, kills
      gone
    end

    named = "test_another_session_that_runs_the_same_query_of_#{driver}_on_a_unix_socket_goes_on"
    define_method(named) do
      path = @watcher.query("select @@socket path").first["path"]
      NB.run do
        first = connect.call(socket: path)
        other = Fiber.schedule { first.query(LONG) }
        Patience.await("the other is at work") { sessions.size == 1 }
        others = sessions
        leave(connect.call(socket: path), beside: 1) { |client| client.query(LONG) }
        Patience.await("one is left", -> { sessions }) { sessions.size == 1 }
        assert_equal others, sessions
        @watcher.query("rollback")
        sleep(0.001) while other.alive?
        assert_equal [1], first.query("select 1").to_a.first.then { |row| row.to_a.flatten.last(1) }
      end

      assert_equal 1, kills
    end

    named = "test_a_query_of_#{driver}_whose_connection_the_server_sees_coming_from_elsewhere_" \
            "is_left_to_itself"
    define_method(named) do
      relay = HeldRelay.new(Services.mariadb.port)
      NB.run { leave(connect.call(**tcp, port: relay.port)) { |client| client.query(LONG) } }

      assert_equal 0, kills
    ensure
      relay&.close
    end

    define_method("test_other_queries_of_#{driver}_go_on") do
      found = nil
      NB.run do
        @watcher.query("select get_lock('#{driver}', 0)")
        other = Fiber.schedule do
          lock = "select get_lock('#{driver}', #{Patience::SECONDS}), 17 number"
          found = connect.call(tcp).query(lock).to_a
        end
        leave(connect.call(tcp)) { |client| client.query(LONG) }
        @watcher.query("select release_lock('#{driver}')")
        sleep(0.001) while other.alive?
      end

      assert_equal 1, kills
      assert_includes found.first.to_a.flatten, 17
    end

    named = "test_queries_of_#{driver}_that_are_left_together_are_ended_by_fewer_connections"
    define_method(named) do
      opened = nil
      NB.run do
        clients = Array.new(TOGETHER) { connect.call(tcp) }
        fibers = clients.map { |client| waiting { client.query(LONG) } }
        Patience.await("the server is at work", -> { sessions }) { sessions.size == TOGETHER }
        opened = connections
        fibers.each { |fiber| fiber.raise(NB::Cancelled, "enough") }
      end

      assert_equal TOGETHER, kills
      assert_operator connections - opened, :<, TOGETHER
      gone
    end

    named = "test_a_query_of_#{driver}_at_a_server_that_does_not_answer_costs_one_connection_more"
    define_method(named) do
      NeverBlock::DB::MysqlKill.seconds = 1
      server = SilentServer.new
      loop = Thread.new do
        NB.run do
          client = connect.call(host: "127.0.0.1", port: server.port)
          fiber = waiting { client.query(LONG) }
          server.asked.pop
          fiber.raise(NB::Cancelled, "enough")
        end
      end
      2.times { server.greeted.pop }
      Patience.await("the loop ends") { loop.join(0) || server.greeted.size.positive? }
      assert_empty server.greeted
    ensure
      loop&.kill
      server&.close
    end

    define_method("test_a_query_of_#{driver}_that_fails_has_nobody_ended") do
      NB.run do
        assert_raises(Mysql2::Error, Trilogy::Error) { connect.call(tcp).query("select nothing") }
      end

      assert_equal 0, kills
    end
  end

  def test_so_is_a_prepared_statement_of_mysql2
    NB.run do
      leave(CONNECT["mysql2"].call(tcp)) do |client|
        client.prepare(LONG.sub("1", "?")).execute(1)
      end
    end

    assert_equal 1, kills
    gone
  end

  private

  def tcp
    { host: "127.0.0.1", port: Services.mariadb.port }
  end

  # @return [Fiber] that calls the block, until it is cancelled
  def waiting
    Fiber.schedule do
      yield
    rescue NB::Cancelled
      nil
    end
  end

  # Calls the block in a fiber, and takes it out of there when the server is at work for it.
  def leave(client, beside: 0)
    fiber = waiting { yield client }
    Patience.await("the server is at work", -> { sessions }) do
      sessions.size > beside
    end
    fiber.raise(NB::Cancelled, "enough")
  end

  def gone
    Patience.await("the query has ended", -> { sessions }) { sessions.empty? }
  end

  # @return [Array<Integer>] numbers of those that wait for the row; not yet those that prepare the
  #   statement
  def sessions
    @watcher.query("show full processlist")
      .select { |row| row["Info"]&.start_with?("select id from held") }
      .reject { |row| row["Command"] == "Prepare" }
      .map { |row| row["Id"] }
  end

  # @return [Integer] so many connections the server has had
  def connections
    Integer(@watcher.query("show global status like 'Connections'").first["Value"], 10)
  end

  # @return [Integer] so many sessions have been killed since the test began
  def kills
    Integer(@watcher.query("show global status like 'Com_kill'").first["Value"], 10) - (@kills || 0)
  end
end
