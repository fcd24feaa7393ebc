# frozen_string_literal: true

# A thread of the pool. What a job leaves behind on it is taken away; a job that ends its thread costs the pool that thread and its caller an error.

module NeverBlock
  module Offload
    class Worker < Thread
      def initialize(pool)
        super() do
          self.name = "neverblock offload"
          Thread.handle_interrupt(Cancelled => :never) { work(pool) }
        ensure
          pool.lost(self)
        end
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
        job.finish(outcome || Outcome.new(nil, Error.new("the offloaded work has ended its thread (Thread.exit, Thread#kill)")))
      end

      def clean
        drop_late
        thread_variables.each { |name| thread_variable_set(name, nil) }
      end

      # A Cancelled that came as the job ended is not the next one's. (Asked by class, Thread.pending_interrupt? takes the exception that is pending for a class,
      # and Ruby 3.1 crashes: rb_threadptr_pending_interrupt_include_p in thread.c.)
      def drop_late
        Thread.handle_interrupt(Cancelled => :immediate) { Thread.pass } if Thread.pending_interrupt?
      rescue Cancelled
        retry
      end
    end
  end
end
