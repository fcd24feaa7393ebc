# frozen_string_literal: true

# Asynchronous queries as fibers: how many run at once, who runs the others, and what ends them.

require_relative "../../../support/unit"
require_relative "../../../support/patience"
require "active_record"
require "concurrent/executor/thread_pool_executor"
require "neverblock"
require "tmpdir"

class AsyncQueriesTest < Minitest::Test
  AsyncQueries = NeverBlock::DB::ActiveRecord::AsyncQueries

  class Note < ActiveRecord::Base; end

  class Outside < StandardError
    include NeverBlock::FromOutside
  end

  def setup
    NB.run { nil } # installs it
    @queries = AsyncQueries.new(2, 3)
    @gates = Hash.new { |gates, name| gates[name] = Thread::Queue.new }
    @begun = []
    @ended = []
  end

  def test_a_query_runs_in_a_fiber_of_its_own_up_to_its_first_wait
    fiber = nil
    NB.run do
      post(:a) { fiber = Fiber.current }

      assert_equal [:a], @begun
      refute_same Fiber.current, fiber
      assert_equal [1, 0], [@queries.running, @queries.waiting]
      @gates[:a] << true
    end

    assert_equal [:a], @ended
    assert_equal [0, 0], [@queries.running, @queries.waiting]
  end

  def test_as_many_run_as_may_and_the_others_follow_in_their_order
    NB.run do
      %i[a b c d].each { |name| post(name) }

      assert_equal %i[a b], @begun
      assert_equal [2, 2], [@queries.running, @queries.waiting]
      @gates[:b] << true
      await_begun(3)
      @gates[:a] << true
      await_begun(4)
      %i[c d].each { |name| @gates[name] << true }
    end

    assert_equal %i[a b c d], @begun
  end

  def test_where_the_queue_is_full_the_caller_runs_it
    NB.run do
      %i[a b c d e].each { |name| post(name) }
      here = nil
      @gates[:f] << true
      post(:f) { here = Fiber.current }

      assert_same Fiber.current, here
      %i[a b c d e].each { |name| @gates[name] << true }
    end

    assert_equal %i[a b f c d e], @begun
  end

  def test_a_queue_without_a_limit_takes_all
    @queries = AsyncQueries.new(1, 0)
    NB.run do
      20.times { |number| post(number) }

      assert_equal [1, 19], [@queries.running, @queries.waiting]
      20.times { |number| @gates[number] << true }
    end

    assert_equal [*0...20], @ended
  end

  def test_all_loops_of_a_process_share_the_places
    begun = Thread::Queue.new
    threads = %i[a b c].map do |name|
      Thread.new { NB.run { post(name) { begun << name } } }
    end
    two = Array.new(2) { begun.pop }
    Patience.await("the third waits", -> { @queries.waiting }) { @queries.waiting == 1 }

    assert_empty begun
    two.each { |name| @gates[name] << true }
    @gates[begun.pop] << true
    threads.each(&:join)
    assert_equal 0, @queries.running
  end

  def test_errors_stay_with_the_query
    _, said = capture_io do
      NB.run do
        [StandardError, NotImplementedError, SystemStackError].each do |error|
          @queries.post(nil) { raise error }
        end
        %i[a b c d e].each { |name| post(name) }
        @queries.post(nil) { raise "in the caller" }

        assert_raises(Outside) { @queries.post(nil) { raise Outside } }
        %i[a b c d e].each { |name| @gates[name] << true }
      end
    end

    assert_empty said
    assert_equal 0, @queries.running
  end

  def test_where_no_fiber_can_be_made_it_is_left_to_its_reader
    NB.run do
      Fiber.scheduler.stub(:fiber, ->(*) { raise FiberError, "no memory maps" }) { post(:a) }
    end

    assert_empty @begun
    assert_equal 0, @queries.running
  end

  def test_a_query_that_outlives_its_session_is_cancelled
    error = nil
    NB.run do
      session = new_session
      @queries.post(session) do
        @gates[:never].pop
      rescue NB::Cancelled => e
        error = e
      end
      session.finalize
      refute_predicate session, :active?
    end

    assert_match(/asynchronous query is over/, error.message)
  end

  def test_a_query_that_waits_for_its_place_when_its_session_ends_is_not_run
    NB.run do
      session = new_session
      %i[a b].each { |name| post(name) }
      @queries.post(session) { @begun << :c }
      session.finalize
      Patience.await("it is cancelled", -> { @queries.waiting }) { @queries.waiting.zero? }
      %i[a b].each { |name| @gates[name] << true }
    end

    assert_equal %i[a b], @begun
  end

  def test_a_query_that_ends_soon_after_its_session_ends_by_itself
    NB.run do
      session = new_session
      @queries.post(session) { @ended << @gates[:a].pop }
      session.finalize
      @gates[:a] << :whole
    end

    assert_equal [:whole], @ended
  end

  def test_the_bounds_are_those_of_rails_executor
    executor = Concurrent::ThreadPoolExecutor.new(max_threads: 7, max_queue: 28)

    assert_equal 7, AsyncQueries.of(executor).most
    assert_same AsyncQueries.of(executor), AsyncQueries.of(executor)
    assert_nil AsyncQueries.of(nil)
    assert_nil AsyncQueries.of(Object.new)
  end

  def test_a_forked_child_has_all_places
    reader, writer = IO.pipe
    NB.run do
      %i[a b].each { |name| post(name) }
      pid = fork do
        writer.write(@queries.running.to_s)
        exit!(0)
      end
      Process.wait(pid)
      %i[a b].each { |name| @gates[name] << true }
    end
    writer.close

    assert_equal "0", reader.read
  end

  def test_a_thread_without_a_loop_has_rails_threads
    with_notes do |pool|
      tasks = -> { pool.async_executor.scheduled_task_count }
      outside = in_session { Note.async_count.value }
      given = tasks.call
      inside = NB.run { in_session { Note.async_count.value } }

      assert_equal [1, 1], [outside, inside]
      assert_equal [1, 1], [given, tasks.call]
    end
  end

  def test_a_fiber_whose_waits_block_its_thread_reads_its_queries
    with_notes do |pool|
      values = NB.run do
        in_session { NB.neverblock(false) { Array.new(3) { Note.async_count }.map(&:value) } }
      end

      assert_equal [1, 1, 1], values
      assert_equal 0, pool.stat[:busy]
    end
  end

  private

  # A query that waits at a gate.
  def post(name)
    @queries.post(nil) do
      @begun << name
      yield if block_given?
      @gates[name].pop
      @ended << name
    end
  end

  def await_begun(count)
    Patience.await("#{count} have begun", -> { @begun }) { @begun.size >= count }
  end

  def new_session
    ActiveRecord::AsynchronousQueriesTracker::Session.new
  end

  def in_session
    ActiveRecord::Base.asynchronous_queries_tracker.start_session
    yield
  ensure
    ActiveRecord::Base.asynchronous_queries_tracker.finalize_session
    ActiveRecord::Base.connection_handler.clear_active_connections!(:all)
  end

  # A table with a row, in a file: SQLite's memory is one connection's.
  def with_notes
    before = ActiveRecord.async_query_executor
    Dir.mktmpdir do |folder|
      ActiveRecord.async_query_executor = :multi_thread_pool
      Note.establish_connection(adapter: "sqlite3", database: File.join(folder, "notes"),
                                pool: 3, reaping_frequency: nil)
      Note.connection_pool.with_connection do |connection|
        connection.create_table(:notes) { |table| table.string :text }
      end
      Note.create!(text: "one")
      yield Note.connection_pool
    ensure
      Note.remove_connection
    end
  ensure
    ActiveRecord.async_query_executor = before
  end
end
