# frozen_string_literal: true

# NB.deadline: a block whose waits end when its time is over. In a fiber of a scheduler an alarm raises in the wait the fiber is in (Scheduler#timeout_after);
# elsewhere a clock of our own raises into the thread (deadline/clock.rb).

require "neverblock/errors"
require "neverblock/verbs/deadline/clock"

module NeverBlock
  # @overload deadline(seconds) { ... }
  #   Calls the block; once the time is over, its next wait raises. A wait that has got what it waited for by then returns it, and the wait after it raises. Raised
  #   once: `ensure` blocks may wait. A block that ends without a further wait has kept its time. Of nested blocks each has its own error: what an
  #   enclosing block's end raises passes the enclosed ones as Cancelled, so that a `rescue NB::DeadlineExceeded` around one of them does not take it for its own.
  #   Holds for this fiber, the tasks of an NB.all in it, and its own wait for NB.offload; fibers it schedules and threads it starts may outlive it and are not
  #   ended. Outside a scheduler (and in an Enumerator's body) it is raised into the thread wherever it is, as Timeout does.
  #   @param seconds [Numeric, nil] 0 or less: it is over already, the first wait raises; nil and Infinity: no limit of its own
  #   @return the block's value
  #   @raise [DeadlineExceeded] once the time is over
  #   @raise [TypeError, ArgumentError] when `seconds` is no number, or NaN
  # @overload deadline
  #   @return [Float, nil] seconds left until the nearest enclosing deadline, at least 0.0; nil without one. Also told in the tasks of NB.all and in offloaded
  #     work (which is not ended by it), so that it can be handed to a driver as its own timeout.
  def self.deadline(*seconds, &block)
    return Deadline.left if seconds.empty? && block.nil?
    raise ArgumentError, "NB.deadline(seconds) needs a block; without one it takes no argument and tells the seconds left" unless block && seconds.size == 1

    limit = Deadline.seconds(seconds.first)
    limit ? Deadline.new(limit, Deadline.current).run(&block) : yield
  end

  # One block's limit, and what raises for it.
  class Deadline
    include FromOutside # it is what is raised: #exception

    # The fiber-local that holds the current one.
    KEY = :__neverblock_deadline
    # What is longer (285 years) is no limit; Scheduler#timeout_after has the same bound.
    SECONDS_MAX = 9e9
    private_constant :KEY, :SECONDS_MAX

    class << self
      # @return [Deadline, nil]
      def current
        Thread.current[KEY]
      end

      # @return [Float, nil]
      def left
        current && [current.at - now, 0.0].max
      end

      # The current one of a fiber that works for another: it is told there, and does not raise there.
      def inherit(deadline)
        Thread.current[KEY] = deadline
      end

      # @return [Float] monotonic seconds
      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # @return [Float, nil] nil: no limit
      def seconds(given)
        return nil if given.nil?
        raise TypeError, "NB.deadline takes seconds as a number, got #{given.inspect}" unless given.is_a?(Numeric) && given.real?

        seconds = given.to_f
        raise ArgumentError, "NB.deadline takes seconds as a number, got NaN" if seconds.nan?

        [seconds, 0.0].max if seconds < SECONDS_MAX
      end
    end

    # @return [Float] the length it was given
    attr_reader :seconds
    # @return [Float] when the time is over, or an enclosing one's, on the monotonic clock
    attr_reader :at

    def initialize(seconds, outer)
      @seconds = seconds
      @outer = outer
      @at = [Deadline.now + seconds, outer&.at].compact.min
      @open = true
    end

    # Inside its block?
    def open?
      @open
    end

    # Does the other one enclose it?
    def within?(other)
      !@outer.nil? && (@outer.equal?(other) || @outer.within?(other))
    end

    # What Kernel#raise and Thread#raise ask of what they are given.
    def exception(*)
      DeadlineExceeded.new(deadline: self)
    end

    # @return the block's value
    def run(&block)
      limited(&block)
    rescue DeadlineExceeded => e
      raise unless enclosing?(e.deadline)

      raise Cancelled.new(reason: e)
    rescue Cancelled => e
      raise unless mine?(e.reason)

      raise e.reason
    end

    private

    def limited(&block)
      Thread.current[KEY] = self
      scheduler = Fiber.current_scheduler
      if scheduler.respond_to?(:timeout_after)
        scheduler.timeout_after(@seconds, self) { yield }
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
