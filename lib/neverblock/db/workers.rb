# frozen_string_literal: true

# Threads for calls of database drivers that wait in C: a fiber parks while a thread makes the call.
# They are not NB.offload's, of which there are few. A call may wait for a lock that only another
# call releases (SELECT ... FOR UPDATE and COMMIT), so no call may wait for a thread. Each call has
# a connection to itself, and a server allows fewer connections than there may be threads here.

require "neverblock/verbs/offload"

module NeverBlock
  module DB
    module Workers
      # Most threads at once, more than a server allows connections (MariaDB's default is 151). Each
      # is made on demand.
      THREADS = 2048
      # The driver that needs them, as those see it who look at the server.
      DRIVER = "mysql2"
      # Seconds without a call after which a thread ends.
      IDLE_S = 10.0

      @pool = Offload::Pool.new(THREADS, idle_s: IDLE_S)

      class << self
        # @return [Boolean] whether the current fiber belongs to our loop and may park
        def parks?
          scheduler = Compat.scheduler
          !scheduler.nil? && !scheduler.pinned?
        end

        # Calls the block on a thread and parks the fiber until it has ended.
        # @param on_cancel [Symbol, #call] as in NB.offload; a callable is called in the caller's
        #   fiber to end the block, and its end is then waited for
        # @return [Outcome] what became of the block
        # @raise what the fiber was cancelled with, after the block has ended; with :leave at once
        def call(on_cancel, &block)
          @pool.call(Offload::Job.new(-> { Outcome.of(&block) }, driver: DRIVER), on_cancel)
        end

        # Calls the block on a thread. The job tells its end.
        # @return [Offload::Job]
        def begin(&block)
          Offload::Job.new(block, driver: DRIVER).tap { |job| @pool.submit(job) }
        end
      end
    end
  end
end
