# frozen_string_literal: true

# What is done for gems (lib/neverblock/compat/libraries.rb), on classes of the same shape.
# bin/test --clients does it with the gems.

require "support/scheduler_harness"
require "stringio"

class CompatLibrariesTest < Minitest::Test
  include SchedulerHarness

  # The parts of Excon::Connection that matter.
  # A request writes to the socket of its thread, and reads from it after a wait.
  class Connection
    attr_reader :opened

    def initialize(safe: true)
      @data = { thread_safe_sockets: safe }
      @opened = []
      @by_thread = Hash.new { |all, thread| all[thread] = {} }.compare_by_identity
    end

    def request(params = {})
      socket = sockets[:key] ||= StringIO.new.tap { |it| @opened << it }
      raise "closed" if socket.closed?

      socket.reopen(+params[:says])
      sleep(0)
      raise(params[:error]) if params[:error]

      socket.string
    end

    def requests(parameters)
      parameters.map { |params| request(params.merge(pipeline: true)) }
    end

    def reset
      sockets.delete(:key)&.close
    end

    private

    def sockets
      @by_thread[Thread.current]
    end
  end

  class Leased < Connection
    prepend NeverBlock::Compat::Excon::Leases
  end

  def test_without_it_fibers_that_share_a_connection_are_given_each_others_answers
    assert_equal %w[b b], answers(Connection.new, %w[a b])
  end

  def test_fibers_that_share_a_connection_get_their_own_answers_and_free_sockets
    connection = Leased.new

    assert_equal %w[a b], answers(connection, %w[a b])
    assert_equal %w[c d], answers(connection, %w[c d])
    assert_equal 2, connection.opened.size
  end

  def test_the_parts_of_a_pipeline_use_one_socket
    connection = Leased.new
    in_scheduler { fiber { connection.requests([{ says: "a" }, { says: "b" }]) } }

    assert_equal 1, connection.opened.size
  end

  def test_sockets_of_a_request_that_ended_badly_are_closed_and_not_used_again
    connection = Leased.new
    in_scheduler do
      fiber do
        assert_raises(EOFError) { connection.request(says: "a", error: EOFError) }
      end
    end

    assert_predicate connection.opened.first, :closed?
    assert_equal %w[b], answers(connection, %w[b])
  end

  def test_reset_closes_the_sockets_that_are_free
    connection = Leased.new
    answers(connection, %w[a b])
    in_scheduler { fiber { connection.reset } }

    assert connection.opened.all?(&:closed?)
  end

  def test_outside_of_a_loop_and_where_the_user_has_turned_it_off_sockets_are_the_librarys
    outside = Leased.new
    2.times { outside.request(says: "a") }

    assert_equal 1, outside.opened.size
    assert_equal %w[b b], answers(Leased.new(safe: false), %w[a b])
  end

  def test_a_connection_by_hiredis_in_the_loop_is_told_of_once_and_outside_not
    watched = Class.new { prepend NeverBlock::Compat::Hiredis::Connection }
    NeverBlock::Compat::Hiredis.instance_variable_set(:@told, nil)

    assert_silent { watched.new }
    _, said = capture_io { in_scheduler { fiber { 2.times { watched.new } } } }

    assert_equal [NeverBlock::Compat::Hiredis::MESSAGE], said.lines(chomp: true)
  end

  private

  def answers(connection, words)
    results = {}
    in_scheduler { words.each { |word| fiber { results[word] = connection.request(says: word) } } }
    results.values_at(*words)
  end
end
