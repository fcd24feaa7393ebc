# frozen_string_literal: true

# Discarded connections: their fiber has left the driver in the middle of an answer, by a deadline,
# Timeout, Fiber#raise or Fiber#kill. The next holder would get the rest of that answer. So the
# connection is closed, and the holder that finds it in the pool has it removed (Found).
#
# pg reads the rest of an old answer before it sends the next query. So its connection stays usable
# for the holder that has rescued Timeout, as on threads, and is closed when the holder gives it
# back. What ends the fiber from outside (FromOutside) discards it at once.

require "timeout"
require "neverblock/errors/causes"
require "neverblock/errors"

module NeverBlock
  module Sequel
    module Discarded
      # Makes Sequel's pool remove the connection that it gave to a holder.
      class Found < ::Sequel::DatabaseDisconnectError; end

      # PQTRANS_ACTIVE and PQTRANS_UNKNOWN (libpq, PQtransactionStatus): a command is in progress;
      # the connection is bad.
      IN_THE_MIDDLE = [1, 4].freeze

      class << self
        # Yields the connection while a fiber holds it.
        # @return what the block returns
        # @raise [Found] when it was discarded
        def watch(connection, db)
          raise Found, "the connection was discarded" if discarded?(connection)

          finished = false
          result = yield connection
          finished = true
          result
        ensure
          finished ? settle(connection, db) : leave(connection, db, $!)
        end

        # Yields to a call of the driver.
        # @return what the block returns
        # @raise [Sequel::DatabaseDisconnectError] when the holder uses a discarded connection again
        #   while it is unwinding: the call would wait for the old answer
        def call(connection, db)
          refuse if discarded?(connection)

          finished = false
          result = yield
          finished = true
          result
        rescue ::Sequel::Error, *db.send(:database_error_classes)
          finished = true
          raise
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          outside = FromOutside === e
          raise
        ensure
          mark(connection, db) unless finished || (reads_on?(connection) && !outside)
        end

        # @return [Boolean] whether the connection must not be used again
        def discarded?(connection)
          connection.instance_variable_defined?(:@neverblock_discarded)
        end

        # @return [Boolean] whether the error, or one of its causes, ends a fiber from outside
        def from_outside?(error)
          Causes.of(error).any? do |one|
            !one.is_a?(StandardError) || one.is_a?(NeverBlock::Error) || one.is_a?(::Timeout::Error)
          end
        end

        private

        # pg has libpq's record of the answer, and reads on before the next query.
        def reads_on?(connection)
          connection.respond_to?(:transaction_status)
        end

        def refuse
          raise ::Sequel::DatabaseDisconnectError,
                "the connection was left in the middle of an answer"
        end

        # Not for SQLite: it has no answer under way, and its database may exist in the connection.
        def mark(connection, db)
          return if connection.frozen? || db.database_type == :sqlite
          return if reads_on?(connection) && !in_the_middle?(connection)

          connection.instance_variable_set(:@neverblock_discarded, true)
        end

        # The holder has come to its end, perhaps after it has rescued Timeout.
        def settle(connection, db)
          mark(connection, db) if reads_on?(connection)
          close(connection, db) if discarded?(connection)
        end

        # The holder has left early. This also sees answers that are read outside the driver's call
        # for the query (COPY, streams).
        def leave(connection, db, error)
          return if error.is_a?(Found)

          doubtful = reads_on?(connection) || (error && from_outside?(error))
          mark(connection, db) if doubtful
          close(connection, db) if discarded?(connection)
        end

        def in_the_middle?(connection)
          IN_THE_MIDDLE.include?(connection.transaction_status)
        rescue StandardError
          true
        end

        # PostgreSQL runs a query on, with its locks, until it gets a cancel request (db/pg.rb).
        # That takes a connection of its own, so another fiber sends it.
        def close(connection, db)
          told = Fiber.current_scheduler && connection.respond_to?(:neverblock_abandon)
          return db.disconnect_connection(connection) unless told

          Fiber.schedule { connection.neverblock_abandon }
        rescue StandardError => e # the loop accepts no fiber any more
          db.disconnect_connection(connection)
          raise if FromOutside === e
        end
      end
    end
  end
end
