# frozen_string_literal: true

# What ActiveRecord's ConnectionPool notes of its connections, kept whole where a limit (Timeout, NB.deadline, a client that has left) ends a fiber: which are leased and to
# whom, how many are being made, whether new ones may be. A limit is raised in a wait, or where a slice ends. Between two notes it would leave a connection leased
# by nobody, or a place taken for ever.
#
# So no slice ends in what takes a connection. Its waits are ended as ever: in line, and while it connects. What gives one back, and each wait for the pool's lock,
# is not ended at all. The application's own blocks have slices as before.
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
        end

        # What takes connections.
        def self.taking(pool)
          Module.new do
            %i[checkout disconnect clear_reloadable_connections].each do |name|
              define_method(name) { |*arguments| Compat.unsliced { super(*arguments) } }
            end

            %i[connection lease_connection].select { |name| pool.method_defined?(name) }.each do |name|
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

        # What gives connections back, or notes one.
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
