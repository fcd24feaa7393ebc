# frozen_string_literal: true

# Threads for calls of database drivers that wait in C: a fiber parks while a thread makes the call. They are others than NB.offload's, whose number is small:
# a call may wait for a lock that only another call can give back (SELECT ... FOR UPDATE and COMMIT), so none may wait for a thread. A call has a
# connection to itself, and a server allows fewer connections than there may be threads here.

require "neverblock/verbs/offload"

module NeverBlock
  module DB
    module Workers
      # Most threads at once, more than a server allows connections (MariaDB's default is 151). Each is made when it is needed and ends after IDLE_S without.
      THREADS = 2048
      IDLE_S = 10.0

      @pool = Offload::Pool.new(THREADS, idle_s: IDLE_S)

      class << self
        # @return [Boolean] whether the current fiber belongs to our loop and may park
        def parks?
          scheduler = Compat.scheduler
          !scheduler.nil? && !scheduler.pinned?
        end

        # Calls the block on a thread and parks the fiber until it has ended.
        # @param on_cancel [Symbol, #call] as NB.offload; something callable is called in the caller's fiber to end the block, whose end is then waited for
        # @return [Outcome] what became of the block
        # @raise what the fiber was cancelled with, after the block has ended (not with :leave)
        def call(on_cancel, &block)
          @pool.call(Offload::Job.new(-> { Outcome.of(&block) }), on_cancel)
        end

        # Calls the block on a thread; who wants to know its end asks the job.
        # @return [Offload::Job]
        def begin(&block)
          Offload::Job.new(block).tap { |job| @pool.submit(job) }
        end
      end
    end
  end
end
