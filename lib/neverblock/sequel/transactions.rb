# frozen_string_literal: true

# Prepended to Sequel::Database: marks connections that are left in the middle of an answer, and
# sends nothing more on them. Sequel 5.110, database/{logging,transactions}.rb.

require "neverblock/sequel/copies"
require "neverblock/sequel/discarded"

module NeverBlock
  module Sequel
    module Transactions
      # The fiber-local with what has ended the fiber while it rolled back.
      ENDED = :__neverblock_sequel_ended
      private_constant :ENDED

      # @return [#call] the hook with time slices, also inside a stretch without
      def self.sliced(hook)
        scheduler = Compat.scheduler
        scheduler ? -> { scheduler.masked(false) { hook.call } } : hook
      end

      # By now the adapter is loaded.
      def initialize(...)
        Copies.install(self.class)
        super
      end

      # Sequel makes every call of a driver inside this.
      def log_connection_yield(sql, connection, args = nil, &block)
        return super unless Fiber.scheduler

        Discarded.call(connection, self) { super(sql, connection, args, &block) }
      end

      private

      # Sequel's record of the transaction on a connection must be complete. Otherwise the next
      # holder would take an old transaction for its own.
      def add_transaction(*)
        Thread.current[ENDED] = nil
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

      # The server rolls back when a connection is closed. On one that stays open, a ROLLBACK waits
      # for the end of a query that Timeout has left. So that query is cancelled, as ActiveRecord
      # does; a savepoint's is not, because that would make its transaction invalid.
      def rollback_transaction(connection, *)
        return if Discarded.discarded?(connection)

        cancels = connection.respond_to?(:neverblock_cancel) && !in_savepoint?(connection)
        connection.neverblock_cancel if cancels
        super
      rescue FromOutside => e
        Thread.current[ENDED] = e
        raise
      end

      # Raises the error for which a transaction is rolled back. Sequel drops what is raised while
      # it rolls back; what ends the fiber from outside has precedence here.
      def transaction_error(*)
        ended = Thread.current[ENDED]
        Thread.current[ENDED] = nil
        raise ended if ended

        super
      end

      # A killed fiber leaves the block as a `throw` does, for which Sequel commits. Its work is
      # incomplete, so it is rolled back, as Sequel does for killed threads.
      def rollback_on_transaction_exit?(connection, *)
        Discarded.discarded?(connection) || Compat.killed? || super
      end
    end
  end
end
