# frozen_string_literal: true

require_relative "../../../support/ended_fiber"
require_relative "../../../support/killed_fiber"
require_relative "../../../support/scheduler_harness"
require_relative "../../../support/services"
require "pg"
require "neverblock"

# A pipeline whose fiber was ended from outside: the next user of the connection is not given its
# rows.
class PgPipelinedTest < Minitest::Test
  include EndedFiber
  include SchedulerHarness

  SLOW = "select 'theirs', pg_sleep(600)"
  # The server sends what it has when its buffer is full, so the first row with the second.
  ROWS = "select repeat('x', 65536), pg_sleep(n / 2 * 600) from generate_series(0, 2) n"
  WAITS = {
    "get_result" => ->(connection) { connection.get_result },
    "get_last_result" => ->(connection) { connection.get_last_result },
    "async_get_result" => ->(connection) { connection.async_get_result },
    "block" => ->(connection) { connection.block },
    "exec_params" => ->(connection) { connection.exec_params(SLOW, []) }
  }.freeze

  WAITS.each do |name, wait|
    define_method("test_ended_in_#{name}_it_is_closed") do
      in_a_pipeline do |connection|
        ask(connection, SLOW, "select 'theirs'")
        assert_instance_of NB::ClientGone, ended(-> { wait.call(connection) }) { |it| raise_in(it) }
        assert_closed connection
      end
    end
  end

  def test_killed_it_is_closed
    in_a_pipeline do |connection|
      ask(connection, SLOW)
      ended(-> { connection.get_result }) { |it| KilledFiber.kill(it) }
      assert_closed connection
    end
  end

  def test_ended_between_two_rows_it_is_closed
    in_a_pipeline do |connection|
      ask(connection, ROWS)
      connection.set_single_row_mode
      first = connection.get_result
      ended(-> { first.stream_each { nil } }) { |it| raise_in(it) }
      assert_closed connection
    end
  end

  def test_a_pipeline_that_nobody_ends_gives_its_rows
    in_a_pipeline do |connection|
      ask(connection, "select 'a'", "select 'b'")
      rows = Array.new(4) { connection.get_result&.getvalue(0, 0) }
      assert_equal ["a", nil, "b", nil], rows
      assert_equal PG::PGRES_PIPELINE_SYNC, connection.get_result.result_status
      connection.exit_pipeline_mode
      assert_equal "c", connection.exec("select 'c'").getvalue(0, 0)
    end
  end

  def test_a_connection_that_has_left_the_mode_reads_on
    in_a_pipeline do |connection|
      connection.exit_pipeline_mode
      holder = PG.connect(Services.postgresql.url)
      holder.exec("select pg_advisory_lock(1)")
      ended(-> { connection.exec("select 'theirs', pg_advisory_lock(1)") }) { |it| raise_in(it) }
      refute_predicate connection, :finished?
      holder.close
      assert_equal "own", connection.exec("select 'own'").getvalue(0, 0)
    end
  end

  private

  def in_a_pipeline
    in_scheduler do
      fiber do
        connection = PG.connect(Services.postgresql.url)
        skip "libpq before 14 has no pipelines" unless connection.respond_to?(:enter_pipeline_mode)
        connection.enter_pipeline_mode
        yield connection
      ensure
        connection&.close unless connection&.finished?
      end
    end
  end

  def ask(connection, *queries)
    queries.each { |query| connection.send_query_params(query, []) }
    connection.pipeline_sync
  end

  def assert_closed(connection)
    assert_predicate connection, :finished?
    assert_raises(PG::ConnectionBad) { connection.exec_params("select 1", []) }
  end
end
