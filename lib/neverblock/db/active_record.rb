# frozen_string_literal: true

# ActiveRecord 7.1 to 8.1 among fibers, for its own adapters and for ours (`adapter: neverblock_postgresql`, which are subclasses of its own).
#
#   adapters.rb   the names, and what looks at an adapter's name
#   line.rb       who waits for a connection waits in line: first come, first served, and no error while the line moves
#   pool.rb       what ConnectionPool is given: that line and its size
#   books.rb      no connection and no place is lost where a fiber is interrupted
#   pool_size.rb  how many connections a pool may have, from what the database server takes
#   guard.rb      what an interrupted query leaves half-read is closed, and never used again
#   release.rb    what a request has leased is given back at its end, where no Rails does it
#
# It is put in place by the adapters when they are loaded, and by a scheduler (NB.run, the server) where ActiveRecord is there. ActiveRecord is never required by us.

require "neverblock/db/active_record/adapters"
require "neverblock/db/active_record/guard"
require "neverblock/db/active_record/pool"
require "neverblock/db/active_record/release"

module NeverBlock
  module DB
    module ActiveRecord
      @lock = Thread::Mutex.new

      class << self
        # Makes the adapters' names known, at once where ActiveRecord is there.
        # @return [void]
        def register
          Adapters.register if loaded?
        end

        # Calls the block, which loads an application; the adapters' names are known as soon as it has loaded ActiveRecord, whoever requires what first.
        # @return what the block returns
        def registering(&load)
          found = loaded? ? load.call : Adapters.watching(&load)
          apply
          found
        end

        # Makes fibers the owners of connections and of ActiveSupport's state, and gives pools and adapters what they need for that. Again: what has been loaded since.
        # @return [void]
        def apply
          return unless loaded?

          register
          isolate
          install unless @installed
        end

        # @return [Boolean]
        def loaded?
          defined?(::ActiveRecord::ConnectionAdapters) ? true : false
        end

        private

        # What this thread has leased so far would be nobody's.
        def isolate
          return unless defined?(::ActiveSupport::IsolatedExecutionState) && ::ActiveSupport::IsolatedExecutionState.isolation_level != :fiber

          ::ActiveRecord::Base.connection_handler.clear_active_connections!(:all) if base?
          ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
        end

        def install
          @lock.synchronize do
            next if @installed

            @installed = true
            ::ActiveSupport.on_load(:active_record) { Pool.install }
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
