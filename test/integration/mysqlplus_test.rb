# frozen_string_literal: true

require "test_helper"
require "mysqlplus"
require "support/held_calls"

# The calls of mysqlplus, as its own scripts make them, against a real MariaDB.
class MysqlplusTest < Minitest::Test
  include HeldCalls

  # Outside a loop mysql2 keeps Ruby's lock in some waits, and a relay in this process would wait
  # for that.
  def connect(flags: nil, port: HeldCalls.server.port)
    Mysql.real_connect("127.0.0.1", "root", nil, "test", port, nil, flags)
  end

  def test_results_are_strings_by_row_by_name_and_counted
    connection = connect
    result = connection.query("select 1 one, null nothing, 'text' text")
    assert_equal [1, 3, %w[one nothing text]],
                 [result.num_rows, result.num_fields, result.fetch_fields.map(&:name)]
    assert_equal ["1", nil, "text"], result.fetch_row
    assert_nil result.fetch_row
    assert_equal([{ "one" => "1", "nothing" => nil, "text" => "text" }],
                 result.data_seek(0).all_hashes)
    assert_equal([%w[1], %w[2]], connection.query("select seq from seq_1_to_2").to_a)
    assert_nil connection.query("set @a = 1")
    connection.close
  end

  def test_ten_queries_are_under_way_at_once_from_one_thread
    connections = Array.new(10) { connect }
    connections.each do |connection|
      connection.send_query("select get_lock('ten-#{connection.thread_id}', 0), 'mine'")
    end
    waiting = connections.to_h do |connection|
      [IO.for_fd(connection.socket, autoclose: false), connection]
    end
    until waiting.empty?
      IO.select(waiting.keys).first.each do |io|
        assert_equal([%w[1 mine]], waiting.delete(io).get_result.to_a)
      end
    end
    connections.each(&:close)
  end

  # Closing the connection gives the lock to the next.
  def lock_by(call)
    connection = connect
    connection.public_send(call, "select get_lock('gate', 60)").to_a
  ensure
    connection.close
  end

  def test_queries_of_threads_and_of_fibers_are_under_way_at_once
    holder = connect
    holder.query("select get_lock('gate', 0)")
    threads = Array.new(2) { Thread.new { lock_by(:async_query) } }
    on_loop do
      answers = Thread::Queue.new
      calls = %i[query async_query c_async_query]
      calls.each { |call| Fiber.schedule { answers << NeverBlock::Outcome.of { lock_by(call) } } }
      sleep(0.001) until waiting_for_the_lock(holder) == 5
      holder.query("select release_lock('gate')")
      calls.each { assert_equal [["1"]], answers.pop.get(breaks: false) }
      threads.each { |thread| assert_equal [["1"]], thread.value }
    end
  end

  def waiting_for_the_lock(connection)
    sql = "select count(*) from information_schema.processlist where state = 'User lock'"
    connection.query(sql).fetch_row.first.to_i
  end

  def test_a_second_query_before_the_result_is_refused_and_the_first_can_still_be_had
    connection = connect
    connection.send_query("select 1")
    error = assert_raises(Mysql::Error) { connection.send_query("select 2") }
    assert_match(/still waiting/, error.message)
    assert_equal [["1"]], connection.get_result.to_a
    assert_equal 1054, assert_raises(Mysql::Error) { connection.query("select nothing") }.errno
    connection.close
    assert_raises(Mysql::Error) { connection.query("select 1") }
    connection.connect("127.0.0.1", "root", nil, "test", relay.port)
    assert_equal [["1"]], connection.query("select 1").to_a
  end

  def test_a_block_is_given_each_result
    connection = connect(flags: Mysql::CLIENT_MULTI_STATEMENTS)
    several = []
    given = connection.query("select 1; select 2; select 3") do |result|
      several << result.fetch_row
    end
    assert_same connection, given
    connection.c_async_query("select 4; select 5") { |result| several << result.fetch_row }
    assert_equal [%w[1], %w[2], %w[3], %w[4], %w[5]], several
  end

  def test_a_query_that_takes_longer_than_its_time_closes_the_connection
    connection = connect(port: relay.port)
    relay.hold
    error = assert_raises(Mysql::Error) { connection.async_query("select 1", 0.01) }
    assert_match(/timeout/, error.message)
    assert_raises(Mysql::Error) { connection.query("select 1") }
  end
end
