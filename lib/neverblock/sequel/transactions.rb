# frozen_string_literal: true

# Prepended to Sequel::Database: which connections are cut, and that nothing more is said on one. Sequel 5.110, database/{logging,transactions}.rb.

require "neverblock/sequel/discarded"

module NeverBlock
  module Sequel
    module Transactions
      # @return [#call] which has slices, also where there are none
      def self.sliced(hook)
        scheduler = Compat.scheduler
        scheduler ? -> { scheduler.masked(false) { hook.call } } : hook
      end

      # Sequel calls every driver inside this.
      def log_connection_yield(sql, connection, args = nil, &block)
        return super unless Fiber.scheduler

        Discarded.call(connection, self) { super(sql, connection, args, &block) }
      end

      private

      # Notes of what runs on a connection: whoever has it next would take an old one for a transaction of his own.
      def add_transaction(*)
        Compat.unsliced { super }
      end

      def remove_transaction(*)
        Compat.unsliced { super }
      end

      # Called by #remove_transaction.
      def transaction_hooks(*)
        super&.map { |hook| Transactions.sliced(hook) }
      end

      def savepoint_hooks(*)
        super&.map { |hook| Transactions.sliced(hook) }
      end

      # The server rolls back when the connection is closed. To say it on the wire would wait for the answer nobody wants.
      def rollback_transaction(connection, *)
        super unless Discarded.discarded?(connection)
      end

      # A fiber that is killed leaves the block as a `throw` does, which Sequel commits: what it has done is half done. Sequel asks the same of threads.
      def rollback_on_transaction_exit?(connection, *)
        Discarded.discarded?(connection) || Fiber.current.instance_variable_defined?(:@neverblock_killed) || super
      end
    end
  end
end
