# frozen_string_literal: true

# Concurrent::ThreadLocalVar (concurrent-ruby 1.2 and later) keeps its values in an Array that is a
# thread variable, and in a table until the thread is collected. Here the Array belongs to a request
# fiber (compat/thread_variables), and leaves that table when the fiber is collected.
# lib/concurrent-ruby/concurrent/atomic/locals.rb, ThreadLocals#locals!.

module NeverBlock
  module Compat
    module Concurrent
      # The thread variable with the Array. It is emptied between two requests and stays: a new
      # Array would be added to the table.
      KEY = :concurrent_thread_locals

      # Installs it once, when concurrent-ruby is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Concurrent::ThreadLocals)

        locals = ::Concurrent::ThreadLocals
        locals.prepend(OfRoot) unless locals.include?(OfRoot)
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
