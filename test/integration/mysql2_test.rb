# frozen_string_literal: true

require "test_helper"
require "neverblock"
require "mysql2"
require "support/held_relay"
require "support/scheduler_harness"
require "support/services"

# mysql2 on our loop against a real MariaDB: bytes between the two are held, and another fiber has to see them held, and the call still inside, before it lets go.
class Mysql2Test < Minitest::Test
  include SchedulerHarness

  ROWS = 50
  MANY = "select seq, repeat(char(65 + seq % 26), 5000) text from seq_1_to_#{ROWS}"
  TWO = "select 1 one; select 2 two; select 3 three"

  # What is called with a connection, and what it gives. `prepare:` is done before bytes are held.
  CALLS = {
    "query" => [->(client, _) { client.query("select 1 one").to_a }, [{ "one" => 1 }]],
    "query without rows" => [->(client, _) { client.query("set @a = 1") }, nil],
    "query with many rows" => [->(client, _) { sizes(client.query(MANY)) }, [[5000] * ROWS, (1..ROWS).to_a]],
    "streamed query" => [->(client, _) { sizes(client.query(MANY, stream: true, cache_rows: false)) }, [[5000] * ROWS, (1..ROWS).to_a]],
    "asynchronous query" => [->(client, _) { client.query("select 2 two", async: true) || client.async_result.to_a }, [{ "two" => 2 }]],
    "prepare" => [->(client, _) { client.prepare("select ? + 1").param_count }, 1],
    "execute" => [->(_, statement) { statement.execute(2).to_a }, [{ "three" => 3 }], ->(client) { client.prepare("select ? + 1 three") }],
    "execute, streamed" => [->(_, statement) { statement.execute(stream: true, cache_rows: false).to_a.size }, ROWS,
                            ->(client) { client.prepare("select seq from seq_1_to_#{ROWS}") }],
    "ping" => [->(client, _) { client.ping }, true],
    "select_db" => [->(client, _) { client.select_db("mysql") }, "mysql"]
  }.freeze

  def self.sizes(result)
    rows = result.to_a
    [rows.map { |row| row["text"].size }, rows.map { |row| row["seq"] }]
  end

  def self.relay
    @relay ||= HeldRelay.new(Services.mariadb.port).tap { |relay| Minitest.after_run { relay.close } }
  end

  def relay
    self.class.relay
  end

  def connect(port: relay.port, **options)
    Mysql2::Client.new(host: "127.0.0.1", port: port, username: "root", database: "test", flags: %w[MULTI_STATEMENTS], **options)
  end

  def setup
    relay # the server is started here, and not on the loop
  end

  def teardown
    relay.let_go
  end

  def on_loop(&block)
    in_scheduler { fiber(&block) }
  end

  # Calls the block in a fiber. Another one sees that it waits for what is held, and lets go.
  def while_held(**hold)
    held = relay.hold(**hold)
    ended = Thread::Queue.new
    Fiber.schedule { ended << NeverBlock::Outcome.of { yield } }
    held.pop
    3.times { sleep(0) }
    assert_empty ended, "the call did not wait"
    relay.let_go
    ended.pop.get(breaks: false)
  end

  CALLS.each do |name, (call, wanted, prepare)|
    define_method("test_#{name}_lets_others_run_wherever_in_its_answer_it_waits") do
      on_loop do
        client = connect
        [0, 1, 6].each do |after|
          given = prepare&.call(client)
          value = while_held(after: after) { call.call(client, given) }
          wanted.nil? ? assert_nil(value) : assert_equal(wanted, value)
          client.abandon_results!
        end
        client.close
      end
    end

    define_method("test_#{name}_that_is_cancelled_in_the_middle_of_its_answer_closes_the_connection") do
      on_loop do
        client = connect
        given = prepare&.call(client)
        held = relay.hold(after: 6)
        cancelled = Thread::Queue.new
        caller = Fiber.schedule do
          call.call(client, given)
        rescue NB::Cancelled => e
          cancelled << e
        end
        held.pop
        caller.raise(NB::Cancelled, "enough")
        assert_equal "enough", cancelled.pop.message
        assert_predicate client, :closed?
        relay.let_go
        assert_raises(Mysql2::Error) { client.query("select 1") }
      end
    end
  end

  def test_a_long_download_lets_others_run
    on_loop do
      client = connect
      assert_equal([[5000] * ROWS, (1..ROWS).to_a], while_held(after: 100_000) { self.class.sizes(client.query(MANY)) })
      assert_equal([[5000] * ROWS, (1..ROWS).to_a], while_held(after: 100_000) { self.class.sizes(client.query(MANY, stream: true, cache_rows: false)) })
      client.close
    end
  end

  def test_a_long_query_that_the_server_does_not_read_lets_others_run
    on_loop do
      client = connect
      text = "x" * 12_000_000
      assert_equal(12_000_000, while_held(after: 10, from: :client) { client.query("select length('#{text}') bytes").first["bytes"] })
      client.close
    end
  end

  def test_connecting_lets_others_run
    on_loop { while_held { connect }.close }
  end
end
