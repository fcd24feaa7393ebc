# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "mysql2"
require "support/held_calls"
require "support/killed_fiber"

# mysql2 on our loop against a real MariaDB.
class Mysql2Test < Minitest::Test
  include HeldCalls

  ROWS = 50
  MANY = "select seq, repeat(char(65 + seq % 26), 5000) text from seq_1_to_#{ROWS}"
  # What `sizes` says of MANY.
  WHOLE = [[5000] * ROWS, (1..ROWS).to_a].freeze
  # More than the driver reads ahead.
  ONE = "select repeat('a', 100000) one"
  SEVERAL = "#{ONE}; select 2 two; select 3 three"

  # What is called with a connection, and what it gives. `prepare:` is done before bytes are held.
  CALLS = {
    "query" => [->(client, _) { client.query("select 1 one").to_a }, [{ "one" => 1 }]],
    "query without rows" => [->(client, _) { client.query("set @a = 1") }, nil],
    "query with many rows" => [->(client, _) { sizes(client.query(MANY)) }, WHOLE],
    "streamed query" => [
      ->(client, _) { sizes(client.query(MANY, stream: true, cache_rows: false)) }, WHOLE
    ],
    "asynchronous query" => [
      ->(client, _) { client.query("select 2 two", async: true) || client.async_result.to_a },
      [{ "two" => 2 }]
    ],
    "prepare" => [->(client, _) { client.prepare("select ? + 1").param_count }, 1],
    "execute" => [
      ->(_, statement) { statement.execute(2).to_a }, [{ "three" => 3 }],
      ->(client) { client.prepare("select ? + 1 three") }
    ],
    "execute, streamed" => [
      ->(_, statement) { statement.execute(stream: true, cache_rows: false).to_a.size }, ROWS,
      ->(client) { client.prepare("select seq from seq_1_to_#{ROWS}") }
    ],
    "ping" => [->(client, _) { client.ping }, true],
    "select_db" => [->(client, _) { client.select_db("mysql") }, "mysql"],
    "set_server_option" => [
      ->(client, _) { client.set_server_option(Mysql2::Client::OPTION_MULTI_STATEMENTS_ON) }, true
    ]
  }.freeze

  def self.sizes(result)
    rows = result.to_a
    [rows.map { |row| row["text"].size }, rows.map { |row| row["seq"] }]
  end

  def connect(port: relay.port, **options)
    Mysql2::Client.new(
      host: "127.0.0.1", port: port, username: "root", database: "test",
      flags: %w[MULTI_STATEMENTS], **options
    )
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

    named = "test_#{name}_that_is_cancelled_in_the_middle_of_its_answer_closes_the_connection"
    define_method(named) do
      on_loop do
        client = connect
        given = prepare&.call(client)
        error = cancelled_while_held(after: 6) { call.call(client, given) }
        assert_equal "enough", error.message
        assert_predicate client, :closed?
        relay.let_go
        assert_raises(Mysql2::Error) { client.query("select 1") }
      end
    end
  end

  # The second of several results waits, so many bytes after its beginning.
  def second_held(client, after)
    before = relay.passed
    client.query(ONE)
    held = relay.hold(after: relay.passed - before + after)
    client.query(SEVERAL)
    held
  end

  {
    "query" => ->(client) { client.query("select 1") },
    "ping" => :ping.to_proc,
    "stream" => ->(client) { client.query(MANY, stream: true, cache_rows: false).each { nil } }
  }.each do |name, call|
    define_method("test_a_fiber_that_is_killed_in_a_#{name}_closes_the_connection") do
      on_loop do
        client = connect
        held = relay.hold(after: name == "stream" ? 20_000 : 6)
        killed = Fiber.schedule { call.call(client) }
        held.pop
        3.times { sleep(0) }
        KilledFiber.kill(killed)
        Patience.await("it is closed") { client.closed? && !killed.alive? }
      end
    end
  end

  def test_a_connection_whose_fiber_is_killed_while_it_is_made_is_closed_then
    on_loop do
      held = relay.hold
      client = Mysql2::Client.allocate
      killed = Fiber.schedule do
        client.send(:initialize, host: "127.0.0.1", port: relay.port, username: "root")
      end
      held.pop
      KilledFiber.kill(killed)
      3.times { sleep(0) }
      relay.let_go
      Patience.await("it is closed") { client.closed? }
    end
  end

  def test_further_results_let_others_run
    on_loop do
      client = connect
      [0, 6].each do |after|
        held = second_held(client, after)
        assert(while_held(held) { client.next_result })
        assert_equal([{ "two" => 2 }], client.store_result.to_a)
        client.abandon_results!
        held = second_held(client, after)
        while_held(held) { client.abandon_results! }
        assert_equal([{ "1" => 1 }], client.query("select 1").to_a)
      end
    end
  end

  def test_a_long_download_lets_others_run
    on_loop do
      client = connect
      assert_equal(WHOLE, while_held(after: 100_000) { self.class.sizes(client.query(MANY)) })
      streamed = while_held(after: 100_000) do
        self.class.sizes(client.query(MANY, stream: true, cache_rows: false))
      end
      assert_equal WHOLE, streamed
      statement = client.prepare(MANY)
      assert_equal(WHOLE, while_held(after: 100_000) { self.class.sizes(statement.execute) })
      client.close
    end
  end

  def test_a_long_query_that_the_server_does_not_read_lets_others_run
    on_loop do
      client = connect
      text = "x" * 12_000_000
      bytes = while_held(after: 10, from: :client) do
        client.query("select length('#{text}') bytes").first["bytes"]
      end
      assert_equal 12_000_000, bytes
      client.close
    end
  end

  def test_connecting_lets_others_run
    on_loop { while_held { connect }.close }
  end

  # The greeting has some 100 bytes; the handshake follows.
  def test_tls_lets_others_run_in_its_handshake_and_in_an_answer
    on_loop do
      client = while_held(after: 200) { connect(sslca: HeldCalls.server.ca_file, sslverify: true) }
      refute_nil client.ssl_cipher
      [0, 6, 100_000].each do |after|
        assert_equal(WHOLE, while_held(after: after) { self.class.sizes(client.query(MANY)) })
      end
      client.close
    end
  end

  def test_a_statement_that_is_collected_while_its_connection_is_in_a_call_is_closed_after_it
    on_loop do
      client = connect
      5.times do
        50.times { client.prepare("select ? + 1") }
        held = relay.hold(after: 100_000)
        answer = Thread::Queue.new
        Fiber.schedule { answer << NeverBlock::Outcome.of { self.class.sizes(client.query(MANY)) } }
        held.pop
        GC.start
        relay.let_go
        assert_equal(WHOLE, answer.pop.get(breaks: false))
      end
      count = client.query("show status like 'Prepared_stmt_count'").first["Value"]
      assert_operator(Integer(count, 10), :<, 150)
    end
  end

  def test_a_connection_in_a_call_is_refused_to_others_and_can_be_closed
    on_loop do
      client = connect
      held = relay.hold
      ended = Thread::Queue.new
      Fiber.schedule { ended << NeverBlock::Outcome.of { client.ping || client.query("select 1") } }
      held.pop
      [
        -> { client.query("select 1") }, -> { client.ping }, -> { client.prepare("select 1") }
      ].each do |call|
        error = assert_raises(Mysql2::Error, &call)
        assert_match(/\AThis connection is in use by: /, error.message)
      end
      client.close
      assert_kind_of Mysql2::Error, ended.pop.error
      assert_predicate client, :closed?
    end
  end

  def test_a_connection_that_several_close_during_a_call_is_closed_for_all
    on_loop do
      client = connect
      held = relay.hold
      ended = Thread::Queue.new
      Fiber.schedule { ended << NeverBlock::Outcome.of { client.ping } }
      held.pop
      2.times { Fiber.schedule { ended << NeverBlock::Outcome.of { client.close } } }
      assert_empty(Array.new(3) { ended.pop.error }.compact)
      assert_predicate client, :closed?
    end
  end

  def test_a_stream_for_which_there_is_no_thread_leaves_the_connection
    on_loop do
      client = connect
      result = client.query(MANY, stream: true, cache_rows: false)
      refused = ->(*) { raise NeverBlock::Offload::NoWorker }
      NeverBlock::DB::Workers.stub(:begin, refused) do
        assert_raises(NeverBlock::Offload::NoWorker) { result.each { flunk } }
      end
      assert_equal WHOLE, self.class.sizes(result)
      client.close
    end
  end

  def test_a_stream_that_is_left_goes_on_with_the_next_row
    on_loop do
      client = connect
      result = client.query(
        "select seq from seq_1_to_100", stream: true, cache_rows: false, as: :array
      )
      assert_equal([[1], [2]], result.first(2))
      assert_equal([[3]], result.first(1))
      assert_equal((4..100).to_a, result.to_a.flatten)
      assert_equal 100, result.count
      client.query("select 1")
    end
  end

  def test_a_stream_that_is_freed_leaves_the_connection_to_the_next_query
    on_loop do
      client = connect
      result = client.query("select seq from seq_1_to_1000", stream: true, cache_rows: false)
      assert_equal({ "seq" => 1 }, result.first)
      result.free
      assert_equal([{ "1" => 1 }], client.query("select 1").to_a)
    end
  end

  def test_an_error_of_the_server_leaves_the_connection_as_it_was
    on_loop do
      client = connect
      error = assert_raises(Mysql2::Error) { client.query("select nothing") }
      assert_equal 1054, error.error_number
      assert_equal 1064, assert_raises(Mysql2::Error) { client.prepare("select from") }.error_number
      assert_equal([{ "1" => 1 }], client.query("select 1").to_a)
    end
  end

  def test_a_compressed_answer_lets_others_run
    on_loop do
      client = connect(flags: Mysql2::Client::COMPRESS)
      [0, 6].each do |after|
        assert_equal(WHOLE, while_held(after: after) { self.class.sizes(client.query(MANY)) })
      end
      client.close
    end
  end

  # There mysql2 keeps Ruby's lock in some waits, and a relay in this process would wait for that.
  def test_outside_a_loop_nothing_is_changed
    port = HeldCalls.server.port
    client = connect(port: port)
    assert_equal([{ "1" => 1 }], client.query("select 1").to_a)
    assert_equal([{ "3" => 3 }], client.prepare("select ? + 1 `3`").execute(2).to_a)
    assert client.ping
    result = client.query(
      "select seq from seq_1_to_100", stream: true, cache_rows: false, as: :array
    )
    assert_equal((1..100).to_a, result.to_a.flatten)
    threads = Array.new(3) do |index|
      Thread.new { connect(port: port).query("select #{index} a").first["a"] }
    end
    assert_equal([0, 1, 2], threads.map(&:value))
    client.close
  end
end
