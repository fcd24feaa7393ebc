# frozen_string_literal: true

# The gem extralite waits for another connection's lock in SQLite's own busy handler, which sleeps
# in C. Where the lock's holder is a fiber of the same thread, it never goes on: the server hung for
# as long as `busy_timeout=` says. Here a statement that meets a lock fails at once, the fiber
# parks, and the statement is run again until the limit is over. For extralite 2.x.
#
# SQLite itself still waits in several statements of one string, of which some may have been run,
# in batch_execute and its like, and in Query#next and Iterator#next, which could give a row twice.
# Where the application has a progress handler (on_progress), that is called instead.

require "neverblock/db/extralite/lock"

module NeverBlock
  module DB
    module Extralite
      # Methods of a Database that run one statement, or prepare it.
      DATABASE = %i[
        execute query query_hash query_array query_splat query_single query_single_hash
        query_single_array query_single_splat prepare prepare_hash prepare_array prepare_splat
      ].freeze
      # Methods of a prepared Query that begin to run it.
      QUERY = %i[execute << each to_a].freeze

      class << self
        # Installs it once, when extralite is loaded, also for open databases.
        # @return [void]
        def apply
          return unless defined?(::Extralite::Database)
          return if ::Extralite::Database.include?(Database)

          ::Extralite::Database.alias_method(:neverblock_native_timeout=, :busy_timeout=)
          wrap(::Extralite::Database, DATABASE) do |database, arguments|
            [database.neverblock_lock, arguments.grep(String).first.to_s]
          end
          wrap(::Extralite::Query, QUERY) { |query| [query.database.neverblock_lock, query.sql] }
          ::Extralite::Database.prepend(Database)
          ObjectSpace.each_object(::Extralite::Database) do |database|
            database.neverblock_take_over unless database.closed?
          end
        end

        private

        # @yieldparam object what a method is called on, and its arguments
        # @yieldreturn [Array(Lock or nil, String)] and the SQL
        def wrap(klass, methods, &about)
          methods = methods.select { |name| klass.method_defined?(name) }
          klass.prepend(Module.new do
            methods.each do |name|
              define_method(name) do |*arguments, **options, &block|
                lock, sql = about.call(self, arguments) if Compat.scheduler
                next super(*arguments, **options, &block) unless lock

                lock.wait(sql, block) { |rows| super(*arguments, **options, &rows) }
              end
            end
          end)
        end
      end

      # Prepended to Extralite::Database.
      module Database
        # @return [Lock, nil] nil: nothing waits
        attr_reader :neverblock_lock

        def busy_timeout=(seconds)
          super
          neverblock_wait(seconds ? (seconds * 1000).to_i : 0)
        end

        # Its handler is called for locks too.
        def on_progress(...)
          @neverblock_lock = nil
          super
        end

        # For a database that was open before Extralite.apply.
        def neverblock_take_over
          neverblock_wait(query_single_splat("pragma busy_timeout"))
        end

        private

        def neverblock_wait(milliseconds)
          @neverblock_lock = (Lock.new(self, milliseconds) if milliseconds.positive?)
        end

        def pragma_set(values)
          super.tap do
            values.each { |name, value| neverblock_wait(value.to_i) if name.to_s == "busy_timeout" }
          end
        end
      end
    end
  end
end
