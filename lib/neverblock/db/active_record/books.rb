# frozen_string_literal: true

# What ActiveRecord's ConnectionPool notes of its connections, kept whole where a limit (Timeout, NB.deadline, a client that has left) ends a fiber: which are leased and to
# whom, how many are being made, whether new ones may be. A limit is raised in a wait, or where a slice ends. Between two notes it would leave a connection leased
# by nobody, or a place taken for ever.
#
# So no slice ends in what takes connections (Taking), and its waits are ended as ever: for a connection, in line and while it connects. What gives one back, and the
# wait for a lock, is not ended at all (Giving). The application's own blocks have slices as before.
#
# ActiveRecord 7.1 to 8.1, connection_adapters/abstract/connection_pool.rb. Threads that Timeout interrupts have these faults, too; they are left as they are.

module NeverBlock
  module DB
    module ActiveRecord
      module Books
        # Puts it before the pool's methods, those of them that this version has.
        # @param pool [Class] ActiveRecord::ConnectionAdapters::ConnectionPool
        # @return [void]
        def self.install(pool)
          pool.prepend(self, Giving, taking(pool))
          pool::LeaseRegistry.prepend(Leases) if pool.const_defined?(:LeaseRegistry) # 7.2
        end

        def self.taking(pool)
          Module.new do
            %i[checkout connection lease_connection disconnect clear_reloadable_connections].each do |name|
              next unless pool.method_defined?(name)

              define_method(name) { |*arguments| Compat.unsliced { super(*arguments) } }
            end
          end
        end
        private_class_method :taking

        # The lock of all notes. It is ConnectionPool::Queue's as well.
        def synchronize(&block)
          Compat.scheduler ? Compat.locked(self, :mon_enter, :mon_exit, &block) : super
        end

        # Yields the connection of the fiber, or one for as long as the block.
        def with_connection(**options, &block)
          return super unless block && Compat.scheduler

          Compat.unsliced do |sliced|
            super(**options) { |connection| sliced.call(-> { block.call(connection) }) }
          end
        end

        # Gives back what fibers have leased that have ended: each is this fiber's while it is looked at.
        def reap
          return super unless Compat.scheduler

          found = synchronize { discarded? ? [] : @connections.select { |connection| connection.in_use? && !connection.owner.alive? } }
          begin
            Compat.unsliced { super }
          rescue Exception # rubocop:disable Lint/RescueException -- raised again
            neverblock_drop(found)
            raise
          end
        end

        private

        # The connections that were stolen, and neither given back nor removed.
        def neverblock_drop(connections)
          context = ::ActiveSupport::IsolatedExecutionState.context
          Compat.shielded do
            connections.select { |connection| connection.owner.equal?(context) }.each do |connection|
              remove(connection)
              connection.disconnect!
            end
          end
        end

        # All connections are this fiber's in the block, which gives them back or closes them.
        def with_exclusively_acquired_all_connections(*arguments)
          super { Compat.shielded { yield } }
        end

        # What reaches its end once it has begun.
        module Giving
          %i[checkin remove release_connection flush].each do |name|
            define_method(name) { |*arguments| Compat.shielded { super(*arguments) } }
          end

          private

          # A new connection is noted; before that the first of them may read the schema's cache.
          def adopt_connection(...)
            Compat.shielded { super }
          end
        end

        # Prepended to ConnectionPool::LeaseRegistry.
        module Leases
          def [](context)
            Compat.unsliced { Compat.shielded { super } }
          end
        end
      end
    end
  end
end
