# frozen_string_literal: true

# Ends the test process when one test takes longer than it ever should, after writing the stack of every thread to standard error: a bug that
# hangs then fails, and says where. A test that holds Ruby's lock in C cannot be seen from here; bin/test's own limit ends that one.

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
      thread.push([test, clock + @seconds])
    end

    def end(test)
      thread.push([test, nil])
    end

    private

    # The queue is the clock: popping waits until the deadline of the test that began last.
    def thread
      return @queue if @queue && @pid == Process.pid

      @pid = Process.pid
      @queue = Thread::Queue.new
      Thread.new(@queue) { |queue| watch(queue) }.name = "hang guard"
      @queue
    end

    def watch(queue)
      running = {}
      loop do
        soonest = running.values.min
        test, deadline = pop(queue, soonest && (soonest - clock))
        next hang(running) unless test

        deadline ? running[test] = deadline : running.delete(test)
      end
    end

    # Queue#pop(timeout:) is Ruby 3.2's; ConditionVariable#wait would need the pusher's help.
    def pop(queue, seconds)
      return queue.pop unless seconds

      Timeout.timeout([seconds, 0.001].max) { queue.pop }
    rescue Timeout::Error
      nil
    end

    def hang(running)
      test = running.min_by(&:last).first
      running.delete(test)
      warn "HANG: #{test.class}##{test.name} took over #{@seconds} s; the stacks of all threads:"
      Thread.list.each { |thread| warn(thread.inspect, *thread.backtrace&.map { |line| "    #{line}" }) }
      @on_hang.call
    end

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end

require "minitest"
require "timeout"
