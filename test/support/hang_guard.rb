# frozen_string_literal: true

# Ends the test process when one test takes longer than it ever should, after writing the stack of
# every thread to standard error. A bug that hangs then fails, and says where. A test that holds
# Ruby's lock in C cannot be seen from here; bin/test's own limit ends that one.

module HangGuard
  # Reports when a test begins, from inside the test's own set-up and tear-down.
  module Beat
    def before_setup
      HangGuard.begin(self)
      super
    end

    def after_teardown
      super
    ensure
      HangGuard.end(self)
    end
  end

  class << self
    # @param seconds [Integer] longest time one test may take
    # @param on_hang [#call] what ends the process; replaced in this file's own test
    def install(seconds:, on_hang: -> { exit!(70) })
      @seconds = seconds
      @on_hang = on_hang
      Minitest::Test.prepend(Beat) unless Minitest::Test.include?(Beat)
    end

    def begin(test)
      note { @running[test] = clock + @seconds }
    end

    def end(test)
      note { @running.delete(test) }
    end

    private

    # One thread for the whole run, so that tests may count threads. A forked child starts its own
    # when it runs tests.
    def note
      start unless @pid == Process.pid
      @lock.synchronize do
        yield
        @changed.signal
      end
    end

    def start
      @pid = Process.pid
      @lock = Thread::Mutex.new
      @changed = Thread::ConditionVariable.new
      @running = {}
      Thread.new { @lock.synchronize { loop { watch } } }.name = "hang guard"
    end

    # Waits for the first deadline or for a test to begin or end.
    def watch
      test, deadline = @running.min_by(&:last)
      return @changed.wait(@lock) unless test
      return @changed.wait(@lock, deadline - clock) if deadline > clock

      @running.delete(test)
      hang(test)
    end

    def hang(test)
      warn "HANG: #{test.class}##{test.name} took over #{@seconds} s; the stacks of all threads:"
      Thread.list.each do |thread|
        warn(thread.inspect, *thread.backtrace&.map { |line| "    #{line}" })
      end
      @on_hang.call
    end

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end

require "minitest"
