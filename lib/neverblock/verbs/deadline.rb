# frozen_string_literal: true

# NB.deadline: a block whose waits end when its time is over. In a fiber of a scheduler an alarm
# raises in the fiber's wait (Scheduler#timeout_after). Elsewhere a thread of ours raises into the
# calling thread (deadline/clock.rb).

require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/verbs/deadline/clock"

module NeverBlock
  # @overload deadline(seconds) { ... }
  #   Calls the block. Once the time is over, its next wait raises, once: `ensure` blocks may wait.
  #   A wait whose result was there in time returns it, and the wait after it raises. A block that
  #   ends without a further wait is not late.
  #
  #   Nested blocks each have their own error. Inside an enclosed block, the end of an enclosing
  #   one is seen as Cancelled, so that `rescue NB::DeadlineExceeded` there does not catch it.
  #
  #   It holds for this fiber, the tasks of an NB.all in it, and its own wait for NB.offload. Fibers
  #   that it schedules and threads that it starts may outlive it and are not ended. Outside a
  #   scheduler (and in an Enumerator's body) the error is raised into the thread at any point, as
  #   Timeout does.
  #   @param seconds [Numeric, nil] 0 or less: the first wait raises; nil and Infinity: no limit
  #   @return the block's value
  #   @raise [DeadlineExceeded] once the time is over
  #   @raise [TypeError, ArgumentError] when `seconds` is no number, or NaN
  # @overload deadline
  #   @return [Float, nil] seconds left until the nearest enclosing deadline, at least 0.0; nil
  #     without one. Tasks of NB.all and offloaded work see it too. Offloaded work is not ended by
  #     it, and can give it to a driver as that one's timeout.
  def self.deadline(*seconds, &block)
    return Deadline.left if seconds.empty? && block.nil?
    unless block && seconds.size == 1
      raise ArgumentError, "NB.deadline(seconds) needs a block; " \
                           "without one it takes no argument and tells the seconds left",
            Backtrace.of_caller
    end

    limit = Deadline.seconds(seconds.first)
    limit ? Deadline.new(limit, Deadline.current).run(&block) : yield
  end

  # The limit of one block. It can be raised itself, see #exception.
  class Deadline
    include FromOutside

    # The fiber-local that holds the current deadline.
    KEY = :__neverblock_deadline
    # Longer times (285 years) are no limit. Scheduler#timeout_after has the same bound.
    SECONDS_MAX = 9e9
    private_constant :KEY, :SECONDS_MAX

    class << self
      # @return [Deadline, nil] of the current fiber
      def current
        Thread.current[KEY]
      end

      # @return [Float, nil] seconds until #current is over
      def left
        current && [current.at - now, 0.0].max
      end

      # Sets the current deadline of a fiber that works for another. It does not raise there.
      def inherit(deadline)
        Thread.current[KEY] = deadline
      end

      # @return [Float] monotonic seconds
      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # @param given [Numeric, nil] the argument of NB.deadline
      # @return [Float, nil] seconds, which may be negative; nil: no limit
      # @raise [TypeError, ArgumentError] as NB.deadline
      def seconds(given)
        return nil if given.nil?
        unless given.is_a?(Numeric) && given.real?
          raise TypeError, "NB.deadline takes seconds as a number, got #{given.inspect}",
                Backtrace.of_caller
        end

        seconds = given.to_f
        if seconds.nan?
          raise ArgumentError, "NB.deadline takes seconds as a number, got NaN",
                Backtrace.of_caller
        end

        seconds if seconds < SECONDS_MAX
      end
    end

    # @return [Float] its length in seconds, as it was given: it may be negative
    attr_reader :seconds
    # @return [Float] when its time, or an enclosing one's, is over, in monotonic seconds
    attr_reader :at

    def initialize(seconds, outer)
      @seconds = seconds
      @outer = outer
      @at = [Deadline.now + [seconds, 0.0].max, outer&.at].compact.min
      @open = true
    end

    # @return [Boolean] whether its block still runs
    def open?
      @open
    end

    # @return [Boolean] whether the other deadline encloses it
    def within?(other)
      !@outer.nil? && (@outer.equal?(other) || @outer.within?(other))
    end

    # Kernel#raise and Thread#raise call this for the exception to raise.
    def exception(*)
      DeadlineExceeded.new(deadline: self)
    end

    # Calls the block under this deadline.
    # @return the block's value
    def run(&block)
      limited(&block)
    rescue DeadlineExceeded => e
      raise Backtrace.trim(e) unless enclosing?(e.deadline)

      raise Cancelled.new(reason: e)
    rescue Cancelled => e
      raise unless mine?(e.reason)

      raise Backtrace.trim(e.reason)
    end

    private

    def limited(&block)
      Thread.current[KEY] = self
      scheduler = Fiber.current_scheduler
      if scheduler.respond_to?(:timeout_after)
        scheduler.timeout_after([@seconds, 0.0].max, self) { yield }
      else
        Clock.limit(self, &block)
      end
    ensure
      @open = false
      Thread.current[KEY] = @outer
    end

    def mine?(error)
      error.is_a?(DeadlineExceeded) && error.deadline.equal?(self)
    end

    def enclosing?(deadline)
      deadline && !deadline.equal?(self) && deadline.open?
    end
  end
end
