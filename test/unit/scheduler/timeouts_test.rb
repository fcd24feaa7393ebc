# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "net/http"
require "socket"
require "timeout"

# Timeout.timeout, which reaches the hook timeout_after.
class SchedulerTimeoutsTest < Minitest::Test
  include SchedulerHarness

  class Own < StandardError; end

  def test_a_timeout_ends_each_kind_of_wait
    ended = 0
    in_scheduler do
      r, _w = IO.pipe
      waits = [-> { sleep }, -> { Queue.new.pop }, -> { r.read }, -> { loop { sleep(0) } },
               -> { Thread.new { Thread.stop }.join }]
      waits.each do |wait|
        fiber do
          assert_raises(Timeout::Error) { Timeout.timeout(0.01) { wait.call } }
          ended += 1
        end
      end
    end
    assert_equal 5, ended
  end

  def test_a_block_that_keeps_its_time_gives_its_value_and_leaves_no_alarm
    in_scheduler do
      fiber do
        assert_equal 3, Timeout.timeout(SECONDS) { sleep(0) and 3 }
        assert_equal 4, Timeout.timeout(0.01) { 4 }
        sleep(0.03)
      end
    end
  end

  def test_the_exception_and_message_are_the_callers
    in_scheduler do
      fiber do
        error = assert_raises(Own) { Timeout.timeout(0.001, Own, "too long") { sleep } }
        assert_equal "too long", error.message
      end
    end
  end

  def test_of_nested_timeouts_the_earlier_one_ends_its_own_block
    in_scheduler do
      fiber do
        inner = Class.new(StandardError)
        outer = Class.new(StandardError)
        Timeout.timeout(SECONDS, outer) do
          assert_raises(inner) { Timeout.timeout(0.001, inner) { sleep } }
        end
        assert_raises(outer) do
          Timeout.timeout(0.001, outer) { Timeout.timeout(SECONDS, inner) { sleep } }
        end
      end
    end
  end

  # An exception is on its way out of the block, whose `ensure` waits, when the time is over there
  # (Ruby 3.4 waits in IO#close).
  def test_what_was_raised_into_the_block_before_its_time_was_over_is_the_cause_of_the_timeout
    seen = nil
    in_scheduler do
      late = fiber do
        Timeout.timeout(0.01) do
          sleep
        ensure
          sleep
        end
      rescue Timeout::Error => e
        seen = e.cause
      end
      fiber { late.raise(Own, "first") }
    end
    assert_instance_of Own, seen
    assert_equal "first", seen.message
  end

  def test_a_timeout_that_nothing_came_before_has_no_cause
    in_scheduler do
      fiber do
        error = assert_raises(Timeout::Error) { Timeout.timeout(0.001) { sleep } }
        assert_nil error.cause
      end
    end
  end

  def test_two_timeouts_that_end_together_both_raise
    in_scheduler do
      fiber do
        inner = Class.new(StandardError)
        rescued = []
        assert_raises(Own) do
          Timeout.timeout(0.001, Own) do
            Timeout.timeout(0.001, inner) { sleep }
          rescue inner
            rescued << :inner
            sleep
          end
        end
        assert_operator rescued.size, :<=, 1
      end
    end
  end

  def test_a_timeout_inside_a_loop_of_timeouts_hits_its_own_fiber_only
    ended = Hash.new(0)
    in_scheduler do
      20.times do |i|
        fiber do
          20.times do
            Timeout.timeout(i.even? ? 0.0005 : SECONDS) { sleep(i.even? ? SECONDS : 0.0005) }
            ended[:kept] += 1
          rescue Timeout::Error
            ended[:late] += 1
          end
        end
      end
    end
    assert_equal({ kept: 200, late: 200 }, ended)
  end

  # Net::HTTP asks for Timeout around connect, and io_wait with a limit around reads.
  def test_net_http_open_and_read_timeouts
    server = TCPServer.new("localhost", 0)
    in_scheduler do
      fiber do
        http = Net::HTTP.new("localhost", server.local_address.ip_port)
        http.open_timeout = SECONDS
        http.read_timeout = 0.01
        http.max_retries = 0
        assert_raises(Net::ReadTimeout) { http.get("/") }
      end
    end
  end

  def test_a_mutex_is_given_back_by_a_wait_that_timed_out
    mutex = Mutex.new
    in_scheduler do
      holder = fiber { mutex.synchronize { sleep } }
      fiber do
        assert_raises(Timeout::Error) { Timeout.timeout(0.001) { mutex.lock } }
        refute_predicate mutex, :owned?
        Fiber.scheduler.unblock(:test, holder)
        mutex.synchronize { assert_predicate mutex, :owned? }
      end
    end
  end
end
