# frozen_string_literal: true

# lmdb keeps the active transaction of an environment for each thread (lmdb_ext.c,
# environment_active_txn). A transaction that another request of the thread began became the parent
# of a request's own: what one aborted the other committed, and reads saw what was not committed.
#
# Here the requests of a thread take turns. Whoever calls an environment waits until no other
# request of its thread has a transaction there. A transaction could not go to a thread of its own:
# its block may `return` and `break`. Requests on other threads are to each other what threads are.
# lmdb 0.5 to 0.8.

module NeverBlock
  module Compat
    module Lmdb
      # Methods in C that begin a transaction or use the active one. All others call these.
      ENVIRONMENT = %i[transaction database [] databases].freeze
      DATABASE = %i[get put delete cursor stat clear drop flags dupsort? dupfixed?].freeze

      class << self
        # Installs it once, when lmdb is loaded.
        # @return [void]
        def apply
          return unless defined?(::LMDB::Environment)

          wrap(::LMDB::Environment, ENVIRONMENT, :itself)
          wrap(::LMDB::Database, DATABASE, :env)
          ::LMDB::Environment.prepend(Active) unless ::LMDB::Environment.include?(Active)
        end

        # @param environment [Symbol] the method that returns the environment
        def wrap(klass, methods, environment)
          return if klass.include?(InTurn)

          klass.prepend(wrapper(methods.select { |name| klass.method_defined?(name) }, environment))
        end

        # Calls the block in the turn of the running fiber's request, which has it to the end of the
        # block. May park before.
        def in_turn(environment)
          return yield unless Compat.scheduler # it may not park

          root = Scheduler.root
          turn = turn_of(environment)
          return yield if turn.root.equal?(root)

          turn.mutex.synchronize do
            turn.root = root
            yield
          ensure
            turn.root = nil
          end
        end

        # @return [Boolean] whether another request of the thread has its turn
        def others?(environment)
          return false unless Compat.scheduler

          root = turn_of(environment).root
          root && !root.equal?(Scheduler.root)
        end

        private

        # root: of the fiber whose turn it is.
        Turn = Struct.new(:mutex, :root)
        private_constant :Turn

        def turn_of(environment)
          turns = environment.instance_variable_get(:@neverblock_turns) ||
                  environment.instance_variable_set(:@neverblock_turns, {}.compare_by_identity)
          turns[Thread.current] ||= begin
            turns.delete_if { |thread, _| !thread.alive? }
            Turn.new(Thread::Mutex.new)
          end
        end

        def wrapper(methods, environment)
          Module.new do
            include InTurn

            methods.each do |name|
              define_method(name) do |*arguments, **options, &block|
                Lmdb.in_turn(send(environment)) { super(*arguments, **options, &block) }
              end
            end
          end
        end
      end

      # Prepended to LMDB::Environment.
      module Active
        def active_txn
          super unless Lmdb.others?(self)
        end
      end

      # Marks a class whose methods are wrapped.
      module InTurn
      end
    end
  end
end
