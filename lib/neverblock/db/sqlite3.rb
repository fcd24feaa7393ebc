# frozen_string_literal: true

# SQLite has no server to wait for. A statement computes, and reads and writes files, with Ruby's
# lock held. It waits only for another connection's write lock, in its busy handler, and there the
# fiber parks. Guide: docs/guides/sqlite.md. For sqlite3 2.x.

require "neverblock/db/sqlite3/busy"

module NeverBlock
  module DB
    module Sqlite3
      # Installs it once, when sqlite3 is loaded, also for open databases.
      # @return [void]
      def self.apply
        return unless defined?(::SQLite3::Database) && !::SQLite3::Database.include?(Database)

        ::SQLite3::Database.prepend(Database)
        ::SQLite3::Statement.prepend(Statement)
        ::SQLite3::Backup.prepend(Backup)
        ObjectSpace.each_object(::SQLite3::Database) do |database|
          database.neverblock_take_over unless database.closed?
        end
      end

      # Prepended to SQLite3::Database.
      module Database
        # @return [Busy, nil]
        attr_reader :neverblock_busy

        # The handler is the application's, or the gem's own for busy_handler_timeout=.
        def busy_handler(handler = nil, &block)
          handler ||= block
          @neverblock_busy = handler && Busy.new(handler)
          super(@neverblock_busy)
        end

        # SQLite's own wait blocks the thread and holds Ruby's lock.
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

        # For a database that was open before #apply.
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
        # Called for each row, so it uses no block and makes no object.
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

        # Ends the statement. One that writes and returns rows may commit only here.
        def reset!
          busy = @connection&.neverblock_busy
          busy ? busy.guard { super } : super
        end

        # As #reset!.
        def close
          busy = @connection&.neverblock_busy
          busy ? busy.guard { super } : super
        end

        private

        def prepare(database, sql)
          busy = database.neverblock_busy
          busy ? busy.guard { super } : super
        end
      end

      # Prepended to SQLite3::Backup. It waits for the locks of both databases.
      module Backup
        def initialize(to, to_name, from, from_name)
          super
          @neverblock_databases = [to, from]
        end

        def step(pages)
          busy = @neverblock_databases&.filter_map(&:neverblock_busy) || []
          busy.inject(-> { super(pages) }) { |call, one| -> { one.guard(&call) } }.call
        end
      end
    end
  end
end
