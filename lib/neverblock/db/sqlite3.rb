# frozen_string_literal: true

# SQLite has no server to wait for: a statement computes, and reads and writes files, with Ruby's lock. What it does wait for is another's write lock, in its busy
# handler, and there the fiber parks. Guide: docs/guides/sqlite.md. For sqlite3 2.x.

require "neverblock/db/sqlite3/busy"

module NeverBlock
  module DB
    module Sqlite3
      # Puts it in place once, when sqlite3 is loaded.
      def self.apply
        return unless defined?(::SQLite3::Database) && !::SQLite3::Database.include?(Database)

        ::SQLite3::Database.prepend(Database)
        ::SQLite3::Statement.prepend(Statement)
        ObjectSpace.each_object(::SQLite3::Database) { |database| database.neverblock_take_over unless database.closed? }
      end

      # Prepended to SQLite3::Database.
      module Database
        # @return [Busy, nil]
        attr_reader :neverblock_busy

        # A handler that the application gives, or the gem's own for busy_handler_timeout=.
        def busy_handler(handler = nil, &block)
          handler ||= block
          @neverblock_busy = handler && Busy.new(handler)
          super(@neverblock_busy)
        end

        # SQLite's own wait keeps the thread, and Ruby's lock.
        def busy_timeout=(milliseconds)
          super
          busy_handler(Timeout.new(milliseconds)) if milliseconds.positive?
        end

        def busy_timeout(milliseconds)
          self.busy_timeout = milliseconds
        end

        def close
          @neverblock_busy&.enter
          super
        end

        # Of a database that was opened before.
        def neverblock_take_over
          milliseconds = get_first_value("PRAGMA busy_timeout").to_i
          self.busy_timeout = milliseconds if milliseconds.positive?
        end

        private

        def exec_batch(...)
          busy = @neverblock_busy
          busy ? busy.guard { super } : super
        end
      end

      # Prepended to SQLite3::Statement.
      module Statement
        # For each row: no block, no object.
        def step
          busy = @connection&.neverblock_busy
          return super unless busy

          busy.enter
          begin
            super
          ensure
            busy.raise_pending_error if busy.pending_error
          end
        end

        def reset!
          @connection&.neverblock_busy&.enter
          super
        end

        def close
          @connection&.neverblock_busy&.enter
          super
        end

        private

        def prepare(database, sql)
          busy = database.neverblock_busy
          busy ? busy.guard { super } : super
        end
      end
    end
  end
end
