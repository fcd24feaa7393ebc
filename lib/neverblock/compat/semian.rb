# frozen_string_literal: true

# A bulkhead of Semian waits for a ticket in C, in semtimedop(2), which has no hook. A fiber that
# waits so stops its loop, and the fiber that holds the ticket cannot go on: until the bulkhead's
# timeout, or for ever. Here a fiber that finds no ticket waits on a thread: in the kernel's queue,
# as long as the bulkhead says. A ticket that comes too late is given back. Tickets belong to the
# process, whose threads share the kernel's list of what is undone when it ends (semop(2),
# SEM_UNDO). Semian 0.x: lib/semian/resource.rb, ext/semian/resource.c.

require "neverblock/verbs/offload"

module NeverBlock
  module Compat
    module Semian
      # Seconds between two interrupts.
      PAUSE_S = 0.001

      class << self
        # Installs it once, when Semian is loaded.
        # @return [void]
        def apply
          return unless defined?(::Semian::Resource) && ::Semian.semaphores_enabled?
          return unless ::Semian::Resource.method_defined?(:acquire_semaphore)

          ::Semian::Resource.prepend(Parking) unless ::Semian::Resource.include?(Parking)
        end

        # Waits on a thread. Those that hold tickets never wait for the threads of those that want
        # one.
        # @param resource [::Semian::Resource]
        # @return what the block, which takes a ticket, returns
        def wait(resource, &take)
          taken = given = false
          job = Offload::Job.new(-> { take.call.tap { taken = true } })
          Offload.unbounded.call(job, -> { interrupt(job) }).tap { given = true }
        ensure
          resource.release_semaphore if taken && !given
        end

        private

        # Ends the system call, which Semian begins again a few times (perform_semop).
        def interrupt(job)
          until job.state == :ended
            job.thread.wakeup
            sleep(PAUSE_S)
          end
        end
      end

      # Prepended to Semian::Resource.
      module Parking
        def acquire(*arguments, **options)
          return super unless Compat.scheduler && block_given?

          Compat.unsliced do |sliced|
            wait_time = acquire_semaphore(*arguments, **options)
            begin
              sliced.call(-> { yield wait_time })
            ensure
              release_semaphore
            end
          end
        end

        def acquire_semaphore(*arguments, **options)
          return super unless Compat.scheduler

          Compat.unsliced do
            super(timeout: 0)
          rescue ::Semian::TimeoutError
            Semian.wait(self) { super(*arguments, **options) }
          end
        end
      end
    end
  end
end
