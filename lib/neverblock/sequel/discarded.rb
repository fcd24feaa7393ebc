# frozen_string_literal: true

# Connections that were cut: whose fiber was taken out of the driver in the middle of an answer, by a deadline, by Timeout, by Fiber#raise or Fiber#kill. Whoever had
# one next would get the rest of an answer that is not his. So it is closed at once, and whoever finds it in the pool has it removed (Discarded::Found).

require "timeout"
require "neverblock/errors/causes"
require "neverblock/errors"

module NeverBlock
  module Sequel
    module Discarded
      # Makes Sequel's pool remove the connection that its holder was given.
      class Found < ::Sequel::DatabaseDisconnectError; end

      # PQTRANS_ACTIVE, PQTRANS_UNKNOWN (libpq, PQtransactionStatus): a command is in progress; the connection is bad.
      IN_THE_MIDDLE = [1, 4].freeze

      class << self
        # Yields the connection for as long as somebody holds it.
        # @raise [Found] when it was cut
        def watch(connection, db)
          raise Found, "the connection was cut" if discarded?(connection)

          finished = false
          result = yield connection
          finished = true
          result
        ensure
          leave(connection, db, $!) unless finished
        end

        # Calls the driver.
        # @raise [Sequel::DatabaseDisconnectError] when its holder, on the way out, asks a connection again that was cut: that would wait for the old answer
        def call(connection, db)
          raise ::Sequel::DatabaseDisconnectError, "the connection was left in the middle of an answer" if discarded?(connection)

          finished = false
          result = yield
          finished = true
          result
        rescue ::Sequel::Error, *db.send(:database_error_classes)
          finished = true
          raise
        ensure
          mark(connection, db) unless finished
        end

        def discarded?(connection)
          connection.instance_variable_defined?(:@neverblock_discarded)
        end

        # Is it, or was it made of, what ends a fiber's work from outside?
        def from_outside?(error)
          Causes.of(error).any? { |one| !one.is_a?(StandardError) || one.is_a?(NeverBlock::Error) || one.is_a?(::Timeout::Error) }
        end

        private

        # SQLite has no answer on its way; and its database may live in the connection.
        def mark(connection, db)
          return if connection.frozen? || db.database_type == :sqlite || (connection.respond_to?(:transaction_status) && !in_the_middle?(connection))

          connection.instance_variable_set(:@neverblock_discarded, true)
        end

        # Left early. What is read outside the driver's call for a query (COPY, streams) shows here.
        def leave(connection, db, error)
          return if error.is_a?(Found)

          mark(connection, db) if connection.respond_to?(:transaction_status) || (error && from_outside?(error))
          close(connection, db) if discarded?(connection)
        end

        def in_the_middle?(connection)
          IN_THE_MIDDLE.include?(connection.transaction_status)
        rescue StandardError
          true
        end

        # PostgreSQL works on, with its locks, until it is told (db/pg.rb); that takes a connection of its own, so another fiber does it.
        def close(connection, db)
          told = Fiber.current_scheduler && connection.respond_to?(:neverblock_abandon)
          return db.disconnect_connection(connection) unless told

          Fiber.schedule { connection.neverblock_abandon }
        rescue StandardError # the loop takes no fiber any more
          db.disconnect_connection(connection)
        end
      end
    end
  end
end
