# frozen_string_literal: true

# A thread of the pool. It removes what a job leaves behind on the thread. A job that ends the
# thread costs the pool that thread, and its caller gets an error.

module NeverBlock
  module Offload
    class Worker < Thread
      ENDED = "the offloaded work has ended its thread (Thread.exit, Thread#kill)"
      private_constant :ENDED

      # Makes the thread without Thread#initialize, which agents extend: a thread of New Relic's has
      # the transaction of the request that makes it, and later works for others.
      # @return [Worker]
      def self.hire(pool)
        start { Thread.current.serve(pool) }
      end

      # The thread's body.
      def serve(pool)
        self.name = "neverblock offload"
        Thread.handle_interrupt(Cancelled => :never) { work(pool) }
      ensure
        pool.lost(self)
      end

      private

      def work(pool)
        while (job = pool.take)
          work_off(job, pool)
        end
      end

      def work_off(job, pool)
        outcome = job.perform
      ensure
        pool.ended(job)
        clean
        job.finish(outcome || Outcome.new(nil, Error.new(ENDED)))
      end

      def clean
        drop_late
        thread_variables.each { |name| thread_variable_set(name, nil) }
      end

      # Drops a Cancelled that came as the job ended, so that the next job does not get it. With a
      # class, Thread.pending_interrupt? removes a pending exception of that class, and Ruby 3.1
      # crashes (rb_threadptr_pending_interrupt_include_p in thread.c).
      def drop_late
        return unless Thread.pending_interrupt?

        Thread.handle_interrupt(Cancelled => :immediate) { Thread.pass }
      rescue Cancelled
        retry
      end
    end
  end
end
