# frozen_string_literal: true

# The neverblock extension lets the fibers of an event loop share Sequel's connection pools, each with a connection of its own while it needs one:
#
#   Sequel.extension :neverblock
#   DB = Sequel.connect(ENV.fetch("DATABASE_URL"), max_connections: 12)
#
# NeverBlock's server and NB.run load it themselves where Sequel is loaded. It serves every Database there is and will be, whatever its adapter and its pool,
# and does nothing in a thread without a Fiber.scheduler, unless fibers have used the same pool. docs/guides/sequel.md has the rest.
#
# Related modules: NeverBlock::Sequel::Pool, NeverBlock::Sequel::Transactions

require "neverblock"
require "neverblock/sequel/pool"
require "neverblock/sequel/transactions"

module NeverBlock
  module Sequel
    # What tells Sequel whose connection is whose: in an event loop the scheduled fiber, with those it resumes; elsewhere what it was.
    module Current
      # @return [Fiber, Thread]
      def current
        Fiber.scheduler ? Scheduler.root : super
      end

      # Held for notes such as that of a connection's transaction. A wait for it is not ended from outside, or the note would be left as it was.
      def synchronize(&block)
        return super if @single_threaded || !Compat.scheduler

        Compat.locked(@data_mutex, &block)
      end
    end

    # @raise [Error] when this Sequel tells connections apart by thread only (before 5.32)
    # @return [void]
    def self.install
      unless ::Sequel.respond_to?(:current)
        raise Error, "Sequel #{::Sequel.version} gives all fibers of a thread the same connection, which is not safe: take 5.32 or later (5.110 is tested)"
      end

      ::Sequel.extend(Current)
      ::Sequel::Database.prepend(Transactions)
      Pool.install
    end
  end
end

NeverBlock::Sequel.install

# For `Sequel.connect(url, extensions: :neverblock)` and DB.extension(:neverblock): nothing of it belongs to a single Database.
Sequel::Database.register_extension(:neverblock) { |_db| nil }
