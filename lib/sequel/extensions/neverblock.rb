# frozen_string_literal: true

# The neverblock extension lets the fibers of an event loop share Sequel's connection pools. Each
# fiber has a connection of its own while it needs one:
#
#   Sequel.extension :neverblock
#   DB = Sequel.connect(ENV.fetch("DATABASE_URL"), max_connections: 12)
#
# NeverBlock's server and NB.run load it where Sequel is loaded. It serves every Database, whatever
# its adapter and pool. It does nothing in a thread without a Fiber.scheduler, unless fibers have
# used the same pool. docs/guides/sequel.md has the rest.
#
# Related modules: NeverBlock::Sequel::Pool, NeverBlock::Sequel::Transactions,
# NeverBlock::Sequel::QueryBlocker

require "neverblock"
require "neverblock/sequel/pool"
require "neverblock/sequel/query_blocker"
require "neverblock/sequel/transactions"

module NeverBlock
  module Sequel
    # Tells Sequel the owner of a connection: in an event loop the scheduled fiber, with those that
    # it resumes; elsewhere Sequel's own.
    module Current
      # @return [Fiber, Thread]
      def current
        Fiber.scheduler ? Scheduler.root : super
      end

      # Holds the lock of notes such as that of a connection's transaction. A wait for the lock
      # cannot be ended from outside, or the note would not be made.
      def synchronize(&block)
        return super if @single_threaded || !Compat.scheduler

        Compat.locked(@data_mutex, &block)
      end
    end

    # @raise [Error] when this Sequel tells connections apart by thread only (before 5.32)
    # @return [void]
    def self.install
      unless ::Sequel.respond_to?(:current)
        raise Error, "Sequel #{::Sequel.version} gives all fibers of a thread the same " \
                     "connection, which is not safe: take 5.32 or later (5.110 is tested)"
      end

      ::Sequel.extend(Current)
      ::Sequel::Database.prepend(Transactions, QueryBlocker::Loader)
      QueryBlocker.install
      Copies.install(::Sequel::Postgres::Database) if defined?(::Sequel::Postgres::Database)
      Pool.install
    end
  end
end

NeverBlock::Sequel.install

# For `Sequel.connect(url, extensions: :neverblock)` and DB.extension(:neverblock). Nothing of it
# belongs to a single Database.
Sequel::Database.register_extension(:neverblock) { |_db| nil }
