# frozen_string_literal: true

# A job for C code that depends on its thread's own stack. It runs in no fiber of its own. What the
# caller keeps in Thread.current[] and in Fiber storage is there, and what the job changes of it is
# the caller's afterwards.

require "neverblock/verbs/offload/job"

module NeverBlock
  module Offload
    class PlainJob < Job
      # @return [Boolean] whether the thread works for such a job
      def self.here?
        Thread.current.instance_variable_get(:@neverblock_plain) ? true : false
      end

      def initialize(...)
        super
        @locals = State.locals
      end

      # Called on a worker's thread.
      # @return [Outcome]
      def perform
        State.put(@locals, @storage)
        Thread.current.instance_variable_set(:@neverblock_plain, true)
        call
      ensure
        @left = [State.locals, (State.storage if @storage)]
        State.put({}, ({} if @storage))
        Thread.current.instance_variable_set(:@neverblock_plain, nil)
      end

      # Called in the caller's fiber, after the job has ended, or when it never began.
      def hand_back
        State.put(*@left) if @left
      end

      # What the running fiber keeps.
      module State
        class << self
          def locals
            thread = Thread.current
            thread.keys.to_h { |name| [name, thread[name]] }
          end

          def storage = Fiber.current.storage || {}

          # Everything else is removed.
          # @param storage [Hash, nil] nil: there is none on this Ruby
          def put(locals, storage)
            thread = Thread.current
            (thread.keys - locals.keys).each { |name| thread[name] = nil }
            locals.each { |name, value| thread[name] = value }
            return unless storage

            (self.storage.keys - storage.keys).each { |name| Fiber[name] = nil }
            storage.each { |name, value| Fiber[name] = value }
          end
        end
      end
      private_constant :State
    end
  end
end
