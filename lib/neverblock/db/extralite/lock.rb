# frozen_string_literal: true

require "neverblock/db/sqlite3/busy"

module NeverBlock
  module DB
    module Extralite
      # Waits for the locks of other connections, on behalf of one.
      class Lock
        BEGINS = /\A\s*(?:begin|savepoint)\b/i.freeze
        # Of these SQLite waits also within a transaction.
        ENDS = /\A\s*(?:commit|end)\b/i.freeze
        # Asks for the limit, or sets it.
        LIMIT = /\bbusy_timeout\b/i.freeze
        # Something comes behind the first statement. A semicolon in a text is taken for its end.
        SEVERAL = /;\s*[^\s;]/.freeze

        # @param database [::Extralite::Database]
        # @param milliseconds [Integer] the limit
        def initialize(database, milliseconds)
          @database = database
          @milliseconds = milliseconds
        end

        # Runs a statement until no lock keeps it, or the limit is over.
        # @param sql [String]
        # @param block [#call, nil] gets rows
        # @yieldparam rows [Proc, nil] what to give the rows to
        def wait(sql, block, &run)
          return with_limit(sql) { run.call(block) } if LIMIT.match?(sql) || SEVERAL.match?(sql)

          timeout = Sqlite3::Timeout.new(@milliseconds)
          tries = given = 0
          within = @database.transaction_active?
          rows = ->(*row) { (given += 1) && block.call(*row) } if block
          begin
            at_once { run.call(rows) }.tap { @fresh = !within && BEGINS.match?(sql) }
          rescue ::Extralite::BusyError
            raise if given.positive? || (within && !waits?(sql)) || !timeout.call(tries)

            tries += 1
            retry
          end
        end

        private

        # Calls the block, in which SQLite waits itself.
        def with_limit(sql)
          yield.tap { @database.neverblock_take_over if sql.match?(/#{LIMIT}\s*[=(]/) }
        end

        # As SQLite within a transaction: no wait where it has read something, for then the other
        # may wait for this one.
        def waits?(sql)
          @fresh || ENDS.match?(sql)
        end

        # Calls the block, in which SQLite does not wait.
        def at_once
          let_sqlite_wait(0)
          yield
        ensure
          let_sqlite_wait(@milliseconds) unless @database.closed?
        end

        def let_sqlite_wait(milliseconds)
          @database.neverblock_native_timeout = milliseconds / 1000.0
        end
      end
    end
  end
end
