# frozen_string_literal: true

require "socket"
require "support/scheduler_harness"
require "neverblock"
require "neverblock/db/mysql_kill"

# MysqlKill with a connection that records what it is asked. Real servers are in
# test/integration/mysql_kill_test.rb.
class MysqlKillUnitTest < Minitest::Test
  include SchedulerHarness

  # Each session's number is the port it comes from.
  class Connection
    def initialize(asked, ports)
      @asked = asked
      @ports = ports
    end

    def query(sql)
      @asked << sql
      raise "ended meanwhile" if sql == "KILL 2"
      return [["name@here"]] unless sql.start_with?("SHOW")

      @ports.map { |port| [port, "name", "here:#{port}", "test", "Query", 1, "", "select 1"] }
    end

    def close
      @asked << :close
    end
  end

  def setup
    @asked = []
    @gate = Thread::Queue.new
  end

  def test_queries_that_come_while_it_connects_share_its_connection
    in_scheduler do
      fiber do
        4.times { |port| kill(port, :one) }
        @gate << true
      end
    end
    assert_equal ["SELECT USER()", "SHOW FULL PROCESSLIST", *(0..3).map { |id| "KILL #{id}" },
                  :close], @asked
  end

  def test_each_server_is_asked_by_a_connection_of_its_own_also_after_it_was_asked
    in_scheduler do
      fiber do
        2.times do
          %i[one other].each { |server| kill(1, server) }
          2.times { @gate << true }
          sleep(0) until @asked.count(:close).even? && @asked.any?
        end
      end
    end
    assert_equal 4, @asked.count("KILL 1")
    assert_equal 4, @asked.count(:close)
  end

  def test_after_a_failure_the_next_query_is_tried_again
    in_scheduler do
      fiber do
        2.times do
          NeverBlock::DB::MysqlKill.later(Addrinfo.tcp("127.0.0.1", 1), server: :one) do
            @asked << :connects
            raise IOError
          end
        end
        kill(1, :one)
        @gate << true
      end
    end
    assert_equal [:connects, :connects, "SELECT USER()"], @asked.first(3)
  end

  private

  def kill(port, server)
    NeverBlock::DB::MysqlKill.later(Addrinfo.tcp("127.0.0.1", port), server: server) do
      @gate.pop
      Connection.new(@asked, [*0..3])
    end
  end
end
