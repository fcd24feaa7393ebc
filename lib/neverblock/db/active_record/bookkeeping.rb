# frozen_string_literal: true

# ActiveRecord's ConnectionPool notes which connections are leased and to whom, how many are being
# made, and whether new ones may be. A limit (Timeout, NB.deadline, a client that has left) is
# raised in a wait, or where a time slice ends. Between two notes it would leave a connection leased
# by nobody, or a place taken forever.
#
# So no time slice ends in a method that takes a connection. Its waits can still be ended: in the
# wait queue, and while it connects. A method that gives a connection back cannot be ended, nor a
# wait for the pool's lock. The application's own blocks have time slices as before.
#
# For ActiveRecord 7.1 to 8.1, connection_adapters/abstract/connection_pool.rb. Threads that Timeout
# interrupts have these faults too, and keep them.

module NeverBlock
  module DB
    module ActiveRecord
      module Bookkeeping
        # Prepends it to the pool's methods that this version has.
        # @param pool [Class] ActiveRecord::ConnectionAdapters::ConnectionPool
        # @return [void]
        def self.install(pool)
          pool.prepend(self, Giving, taking(pool))
        end

        # Methods that take connections.
        def self.taking(pool)
          Module.new do
            %i[checkout disconnect clear_reloadable_connections].each do |name|
              define_method(name) { |*arguments| Compat.unsliced { super(*arguments) } }
            end

            leasing = %i[connection lease_connection].select { |name| pool.method_defined?(name) }
            leasing.each do |name|
              define_method(name) { active_connection? ? super() : Compat.unsliced { super() } }
            end
          end
        end
        private_class_method :taking

        # The lock of all notes. It is ConnectionPool::Queue's as well.
        def synchronize
          scheduler = Compat.scheduler
          return super if scheduler.nil? || mon_owned?

          held = false
          begin
            scheduler.shield do
              mon_enter
              held = true
            end
            yield
          ensure
            mon_exit if held
          end
        end

        # Yields the connection of the fiber, or one for as long as the block.
        def with_connection(**options, &block)
          return super if block.nil? || Compat.scheduler.nil? || active_connection?

          Compat.unsliced do |sliced|
            super(**options) { |connection| sliced.call(-> { block.call(connection) }) }
          end
        end

        # Gives back what fibers that have ended leased. Each connection is this fiber's while it is
        # looked at.
        def reap
          return super unless Compat.scheduler

          found = synchronize { discarded? ? [] : neverblock_ownerless }
          begin
            Compat.unsliced { super }
          rescue Exception # rubocop:disable Lint/RescueException -- raised again
            neverblock_drop(found)
            raise
          end
        end

        private

        def neverblock_ownerless
          @connections.select { |connection| connection.in_use? && !connection.owner.alive? }
        end

        # The connections that were stolen, and neither given back nor removed.
        def neverblock_drop(connections)
          context = ::ActiveSupport::IsolatedExecutionState.context
          Compat.shielded do
            stolen = connections.select { |connection| connection.owner.equal?(context) }
            stolen.each do |connection|
              remove(connection)
              connection.disconnect!
            end
          end
        end

        # All connections are this fiber's in the block, which gives them back or closes them.
        def with_exclusively_acquired_all_connections(*arguments)
          super { Compat.shielded { yield } }
        end

        # Methods that give connections back, or note one.
        module Giving
          %i[checkin remove release_connection flush].each do |name|
            define_method(name) { |*arguments| Compat.shielded { super(*arguments) } }
          end

          private

          # The first connection may read the schema's cache here.
          def adopt_connection(...)
            Compat.shielded { super }
          end
        end
      end
    end
  end
end
