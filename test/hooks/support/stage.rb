# frozen_string_literal: true

# Plays one row. On a thread with our scheduler fiber A makes the call. Fiber B goes through several
# turns of the loop and sees that A is still inside. Only then does B let the event happen that ends
# A's wait. When the thread is blocked B does not get there. After a bound the watchdog, which is
# the thread that called #play, then makes the events happen instead. In the end A's result must be
# right and the loop must still turn.

require "fileutils"
require "neverblock"
require_relative "props"

module HookTable
  # Raised by a row that cannot be played on this machine.
  class Unavailable < StandardError
  end

  class Stage
    include Props

    # Until the watchdog takes the thread for blocked. A row that is said to block need not be
    # waited for: if it yields it does so at once. A machine too busy for that only hides that an
    # excuse is out of date, until the next run.
    PATIENCE_S = 10.0
    PATIENCE_WITH_BLOCKING_S = 0.3
    # The watchdog looks this often. A thread that is blocked for so much longer than this and keeps
    # the watchdog out holds Ruby's lock.
    TICK_S = 0.01
    # It may come to run once or twice between the fiber's word that it is inside and the call.
    # Without the lock it comes thirty times before it acts.
    TICKS_LOCKED_MAX = 2
    # Until a row that goes on for ever is given up.
    END_S = 30.0
    # B's passes over the ready fibers while A waits for its own clock. A blocked thread allows
    # none.
    PASSES_MIN = 3
    NOTHING = Object.new.freeze

    # @param folder [String] an empty folder of the row's own
    # @param patience_s [Numeric] the watchdog's bound
    # @param end_s [Numeric] the bound of the whole row after it
    def initialize(row, folder:, patience_s: row.excuse ? PATIENCE_WITH_BLOCKING_S : PATIENCE_S,
                   end_s: END_S)
      @row = row
      @folder = folder
      @events = Thread::Queue.new
      @companions = []
      @expected = NOTHING
      @state = :before
      @patience_s = patience_s
      @end_s = end_s
      @passes = 0
      @ticks = 0
    end

    # @return [Hash] "verdict" ("yields", "blocks", "failed", "unavailable") and "detail"
    def play
      instance_exec(&@row.body)
      unless @call && (@elapses || !@events.empty?)
        raise ArgumentError, "#{@row.title}: needs inside { } and event { }"
      end

      thread = Thread.new { run_loop }
      watch(thread)
      verdict(thread)
    rescue Unavailable => e
      { "verdict" => "unavailable", "detail" => e.message }
    rescue Exception => e # rubocop:disable Lint/RescueException -- told to the parent process
      failed("raised #{describe(e)}")
    end

    private

    # --- what a row is written in -----------------------------------------------------------------

    # The call that waits, made by fiber A.
    def inside(&call)
      @call = call
    end

    # Ends A's wait, or the first part of it: B goes through its turns before each. It is called in
    # B, a fiber of the same loop, or by the watchdog from another thread. It should not itself wait
    # for long.
    def event(&block)
      @events << block
    end

    # In place of events: the wait ends by itself, by its own clock. B must have had turns before.
    # @yieldreturn [Boolean] whether A is in the wait that the row is about, if the call has others
    def elapses(&meanwhile)
      @elapses = true
      @meanwhile = meanwhile
    end

    # What the call has to return.
    def gives(value = NOTHING, &check)
      @expected = value
      @check = check
    end

    # The class of the exception the call has to end with.
    def raises(error)
      @error_expected = error
    end

    # Before its turns B waits for this: that A has got as far as the wait that the row is about (a
    # server has its request, say).
    def reached(&condition)
      @reached = condition
    end

    # A further fiber of the same loop, started before A: one that holds a lock, for instance.
    def companion(&block)
      @companions << block
    end

    # Ends the row: it cannot be played on this machine.
    def unavailable(reason)
      raise Unavailable, reason
    end

    # --- the loop's thread ------------------------------------------------------------------------

    def run_loop
      @loop_thread = Thread.current
      Thread.current.report_on_exception = false
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      @companions.each { |block| report_errors { block.call } }
      report_errors { act }
      report_errors { prove }
    end

    def report_errors
      Fiber.schedule do
        yield
      rescue Exception => e # rubocop:disable Lint/RescueException -- it is the row's verdict
        @fault ||= e
      end
    end

    def act
      raise "the disk was asked before the call" if disk_astray?("")

      @state = :inside
      @result = @call.call
    rescue StandardError => e
      @error = e
    ensure
      @state = :after
    end

    def prove
      wait_reached
      until @events.empty?
        turns
        return @never_waited = true unless @state == :inside || @blocked

        @yields = true if @events.size == 1 && !@blocked
        happen
      end
      count_passes if @elapses
      turn until @state == :after
      turns
      @went_on = true
    end

    def count_passes
      @passes += meanwhile? ? 1 : 0 while pass == :inside
    end

    def meanwhile?
      @meanwhile.nil? || @meanwhile.call
    end

    def wait_reached
      turn until @reached.nil? || @state == :after || @reached.call
    end

    # @return [Symbol] whether A is inside, after every fiber that was ready has run
    def pass
      sleep(0)
      @state
    end

    # Passes over the ready fibers, a timer, and a byte through the poller.
    def turns
      3.times { pass }
      turn
      reader, writer = IO.pipe
      writer.write_nonblock("x")
      reader.wait_readable
      sleep(0)
      reader.close
      writer.close
    end

    def turn
      sleep(0.001)
    end

    # Fiber and watchdog may both be at it: each event is taken once.
    # @return [Boolean] false: there is none left
    def happen
      event = @events.pop(true)
      event.call
      true
    rescue ThreadError
      event ? raise : false
    end

    # --- the watchdog -----------------------------------------------------------------------------

    def watch(thread)
      deadline = clock + @patience_s
      while !@yields && thread.join(TICK_S).nil? &&
            (clock < deadline || (@state == :inside && @ticks <= TICKS_LOCKED_MAX))
        tick
      end
      unless @yields || @elapses || !thread.alive?
        @blocked = true
        nil while happen
      end
      thread.join(@end_s)
    end

    # @return [Integer] how often the watchdog came to run while A was inside
    def tick
      @ticks += @state == :inside ? 1 : 0
    end

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def verdict(thread)
      thread.value unless thread.alive?
      return failed("raised #{describe(@fault)}") if @fault
      return failed(not_over(thread)) if thread.alive?
      return failed("it never waited: it #{outcome} before the event") if @never_waited
      return failed(wrong) unless right?
      return failed("the disk was not asked once (#{@disk_marks})") if disk_astray?("be")
      return failed("the loop did not go on afterwards") unless @went_on

      return { "verdict" => "yields" } unless @blocked || (@elapses && @passes < PASSES_MIN)

      { "verdict" => "blocks", "locked" => @ticks <= TICKS_LOCKED_MAX }
    end

    def not_over(thread)
      where = thread.backtrace&.first(5)&.join(" < ")
      "#{@blocked ? "the thread was blocked and" : "the wait"} never ended (#{@state}), at #{where}"
    end

    def right?
      return @error_expected && @error.is_a?(@error_expected) if @error
      return false if @error_expected
      return !!@check.call(@result) if @check

      @expected.equal?(NOTHING) || @expected == @result
    end

    def wrong
      return "it #{outcome}, not #{@error_expected}" if @error_expected

      "it #{outcome}#{", not #{@expected.inspect}" unless @check || @expected.equal?(NOTHING)}"
    end

    def outcome
      @error ? "raised #{describe(@error)}" : "gave #{@result.inspect[0, 200]}"
    end

    def describe(error)
      lines = error.backtrace&.first(3)&.map { |line| line.delete_prefix("#{ROOT}/") }
      "#{error.class}: #{error.message} (#{lines&.join(" < ")})"
    end

    def failed(detail)
      { "verdict" => "failed", "detail" => detail }
    end
  end
end
