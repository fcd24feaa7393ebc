# frozen_string_literal: true

# Concurrent::ThreadLocalVar (concurrent-ruby 1.2 and later) keeps its values in an array that is a thread variable, and in a table until the thread is collected.
# Here the array belongs to a fiber (compat/thread_variables), and leaves that table when the fiber is collected.
# lib/concurrent-ruby/concurrent/atomic/locals.rb, ThreadLocals#locals!.

module NeverBlock
  module Compat
    module Concurrent
      # The thread variable with the array. It is emptied between two requests, and stays: a new one would be in the table beside it.
      KEY = :concurrent_thread_locals

      # Puts it in place once, when concurrent-ruby is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Concurrent::ThreadLocals)

        ::Concurrent::ThreadLocals.prepend(OfRoot) unless ::Concurrent::ThreadLocals.include?(OfRoot)
      end

      # Prepended to Concurrent::ThreadLocals.
      module OfRoot
        def locals!
          thread = ::Thread.current
          return super if Scheduler.locals(thread, false) == false

          thread.thread_variable_get(KEY) || neverblock_make(thread)
        end

        private

        def neverblock_make(thread)
          array = thread.thread_variable_set(KEY, [])
          key = array.object_id
          weak_synchronize { @all_arrays[key] = array }
          ObjectSpace.define_finalizer(Scheduler.root, thread_fiber_finalizer(key))
          array
        end
      end
    end
  end
end
