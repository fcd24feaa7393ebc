# frozen_string_literal: true

# ActiveRecord 7.1 to 8.1 among fibers, for its own adapters and for ours. Ours are subclasses of
# its own (`adapter: neverblock_postgresql`).
#
#   adapters.rb    the adapters' names, and what looks them up
#   wait_queue.rb  where fibers wait for a connection: first come, first served
#   pool.rb        what ConnectionPool gets: that wait queue and its size
#   bookkeeping.rb no connection and no place is lost where a fiber is interrupted
#   pool_size.rb   how many connections a pool may have, from the database server's limit
#   transactions.rb rolls back what a killed fiber leaves
#   guard.rb       closes a connection whose query was interrupted
#   async_queries.rb load_async and its like, in fibers
#   release.rb     gives back a request's connections at its end, where Rails does not
#
# The adapters install it when they are loaded, and so does a scheduler (NB.run, the server) where
# ActiveRecord is loaded. We never require ActiveRecord.

require "neverblock/db/active_record/adapters"
require "neverblock/db/active_record/guard"
require "neverblock/db/active_record/pool"
require "neverblock/db/active_record/release"
require "neverblock/db/active_record/transactions"

module NeverBlock
  module DB
    module ActiveRecord
      @lock = Thread::Mutex.new

      class << self
        # Makes the adapters' names known if ActiveRecord is loaded.
        # @return [void]
        def register
          Adapters.register if loaded?
        end

        # Calls the block, which loads an application. The adapters' names are known as soon as the
        # block has loaded ActiveRecord, whatever the order of requires.
        # @return what the block returns
        def registering(&load)
          found = loaded? ? load.call : Adapters.watching(&load)
          apply
          found
        end

        # Makes fibers the owners of connections and of ActiveSupport's state, and installs what
        # pools and adapters need for that. A further call does the same for what was loaded since.
        # @return [void]
        def apply
          return unless loaded?

          register
          isolate
          install unless @installed
        end

        # @return [Boolean] whether ActiveRecord is loaded
        def loaded?
          defined?(::ActiveRecord::ConnectionAdapters) ? true : false
        end

        private

        # Connections that this thread has leased so far are given back: they would have no owner.
        def isolate
          return unless defined?(::ActiveSupport::IsolatedExecutionState)
          return if ::ActiveSupport::IsolatedExecutionState.isolation_level == :fiber

          ::ActiveRecord::Base.connection_handler.clear_active_connections!(:all) if base?
          ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
        end

        def install
          @lock.synchronize do
            next if @installed

            @installed = true
            ::ActiveSupport.on_load(:active_record) do
              Pool.install
              Transactions.install
            end
            Guard.install
          end
        end

        def base?
          defined?(::ActiveRecord::Base) && !::ActiveRecord.autoload?(:Base)
        end
      end
    end
  end
end
