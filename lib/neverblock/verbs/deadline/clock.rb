# frozen_string_literal: true

# Deadlines where no scheduler is. One thread for the process sleeps until the next deadline is over
# and raises into the thread that is inside its block. It ends when there are no deadlines.
#
# It differs from Timeout.timeout in two points: each raise names its deadline, and one that comes
# as its block ends is dropped.

module NeverBlock
  class Deadline
    module Clock
      Entry = Struct.new(:deadline, :thread, :at)
      private_constant :Entry

      @lock = Thread::Mutex.new
      @changed = Thread::ConditionVariable.new
      @entries = []

      class << self
        # Calls the block. DeadlineExceeded is raised into this thread when the deadline's own
        # seconds are over, and only inside the block.
        def limit(deadline)
          Thread.handle_interrupt(DeadlineExceeded => :never) do
            entry = add(deadline)
            begin
              Thread.handle_interrupt(DeadlineExceeded => :immediate) { yield }
            ensure
              remove(entry)
              drop_late(deadline)
            end
          end
        end

        private

        def add(deadline)
          entry = Entry.new(deadline, Thread.current, Deadline.now + deadline.seconds)
          @lock.synchronize do
            @entries << entry
            @ticker = Thread.new { tick } unless @ticker&.alive?
            @changed.signal
          end
          entry
        end

        def remove(entry)
          @lock.synchronize { @entries.reject! { |other| other.equal?(entry) } }
        end

        # Drops what was raised for this deadline and is still pending. Errors of enclosing
        # deadlines are raised again. Why it does not ask by class: offload/worker.rb.
        def drop_late(deadline)
          others = []
          begin
            if Thread.pending_interrupt?
              Thread.handle_interrupt(DeadlineExceeded => :immediate) { Thread.pass }
            end
          rescue DeadlineExceeded => e
            others << e unless e.deadline.equal?(deadline)
            retry
          end
          others.each { |error| Thread.current.raise(error) }
        end

        def tick
          Thread.current.name = "neverblock deadlines"
          @lock.synchronize do
            until @entries.empty?
              fire
              pause
            end
            @ticker = nil
          end
        end

        def fire
          now = Deadline.now
          over, @entries = @entries.partition { |entry| entry.at <= now }
          over.sort_by(&:at).each { |entry| entry.thread.raise(entry.deadline) }
        end

        def pause
          next_at = @entries.map(&:at).min
          @changed.wait(@lock, [next_at - Deadline.now, 0.0].max) if next_at
        end
      end
    end
  end
end
