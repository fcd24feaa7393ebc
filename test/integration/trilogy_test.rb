# frozen_string_literal: true

require "test_helper"
require "trilogy"
require "support/held_calls"

# trilogy on our loop against a real MariaDB. It waits through Ruby, which our scheduler hooks:
# nothing of it is changed.
class TrilogyTest < Minitest::Test
  include HeldCalls

  ROWS = 50
  MANY = "select seq, repeat(char(65 + seq % 26), 5000) text from seq_1_to_#{ROWS}"
  SEVERAL = "select 1 one; select 2 two; select 3 three"

  # What is called with a connection, and what it gives.
  CALLS = {
    "query" => [->(client) { client.query("select 1 one").to_a }, [[1]]],
    "query without rows" => [->(client) { client.query("set @a = 1").count }, 0],
    "query_with_flags" => [
      ->(client) do
        flags = client.query_flags | Trilogy::QUERY_FLAGS_FLATTEN_ROWS
        client.query_with_flags("select 1, 2", flags).rows
      end,
      [1, 2]
    ],
    "query with many rows" => [
      ->(client) { client.query(MANY).map { |row| [row[0], row[1].size] } },
      (1..ROWS).map { |number| [number, 5000] }
    ],
    "several results" => [->(client) { further(client, client.query(SEVERAL)) }, [1, 2, 3]],
    "change_db" => [->(client) { client.change_db("mysql") }, true],
    "set_server_option" => [
      ->(client) { client.set_server_option(Trilogy::SET_SERVER_MULTI_STATEMENTS_ON) }, true
    ],
    "ping" => [->(client) { client.ping }, true]
  }.freeze

  def self.further(client, result)
    values = [result.first.first]
    values << client.next_result.first.first while client.more_results_exist?
    values
  end

  def connect(**options)
    Trilogy.new(
      host: "127.0.0.1", port: relay.port, username: "root", database: "test",
      multi_statement: true, **options
    )
  end

  CALLS.each do |name, (call, wanted)|
    define_method("test_#{name}_lets_others_run_wherever_in_its_answer_it_waits") do
      on_loop do
        client = connect
        [0, 1, 6].each do |after|
          assert_equal(wanted, while_held(after: after) { call.call(client) })
        end
        client.close
      end
    end

    define_method("test_#{name}_that_is_cancelled_in_the_middle_of_its_answer_leaves_" \
                  "no_connection_to_use") do
      on_loop do
        client = connect
        assert_equal "enough", cancelled_while_held(after: 6) { call.call(client) }.message
        relay.let_go
        assert_raises(Trilogy::Error) { client.query("select 1") }
      end
    end
  end

  def test_a_long_download_and_a_long_query_let_others_run
    on_loop do
      client = connect
      assert_equal(ROWS, while_held(after: 100_000) { client.query(MANY).count })
      text = "x" * 12_000_000
      bytes = while_held(after: 10, from: :client) do
        client.query("select length('#{text}') bytes").to_a
      end
      assert_equal [[12_000_000]], bytes
      client.close
    end
  end

  def test_connecting_by_address_and_by_name_lets_others_run
    on_loop do
      while_held { connect }.close
      while_held { connect(host: "localhost") }.close
    end
  end

  def test_tls_lets_others_run_in_its_handshake_and_in_an_answer
    on_loop do
      tls = {
        ssl: true, ssl_mode: Trilogy::SSL_VERIFY_IDENTITY, ssl_ca: HeldCalls.server.ca_file,
        tls_min_version: Trilogy::TLS_VERSION_12
      }
      client = while_held(after: 200) { connect(host: "localhost", **tls) }
      [0, 6, 100_000].each do |after|
        assert_equal(ROWS, while_held(after: after) { client.query(MANY).count })
      end
      client.close
    end
  end

  def test_a_connection_in_a_call_is_refused_to_other_fibers
    on_loop do
      client = connect
      held = relay.hold
      answer = Thread::Queue.new
      Fiber.schedule { answer << client.query("select 1").first }
      held.pop
      assert_raises(Trilogy::SynchronizationError) { client.query("select 2") }
      relay.let_go
      assert_equal [1], answer.pop
    end
  end
end
