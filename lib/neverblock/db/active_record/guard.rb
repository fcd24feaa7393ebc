# frozen_string_literal: true

# A query may be left before its answer has been read: by its request's deadline, a client that has
# left, Timeout, `throw` or Thread#raise. On such a connection the next query would get that answer.
# So it is closed at once. The adapter stays in its pool and connects again when it is next used. A
# transaction on it is lost, as with a lost connection.
#
# pg reads the rest of an old answer before it sends the next query. So its connection is closed at
# once only where the fiber is ended from outside (FromOutside). After Timeout and the others the
# request goes on with it, as on threads, and it is closed when it goes back to the pool.

module NeverBlock
  module DB
    module ActiveRecord
      # Prepended to ActiveRecord's adapters, whose subclasses have it too.
      module Guard
        # Installs it in each adapter when that is loaded. An adapter loads its driver, perhaps
        # inside the loop, so the patches of libraries are applied again.
        # @return [void]
        def self.install
          GUARDS.each do |adapter, guard|
            ::ActiveSupport.on_load(adapter) do
              prepend(guard)

              Compat::Libraries.apply
            end
          end
        end

        def active?
          neverblock_guard { super }
        end

        def reset!
          neverblock_guard { super }
        end

        private

        def with_raw_connection(**options)
          super(**options) { |raw| neverblock_guard { yield raw } }
        end

        # An error of the driver or of ActiveRecord comes from code that knows what it has read.
        # Then the connection is usable.
        def neverblock_guard
          result = yield
          whole = true
          result
        rescue ::ActiveRecord::ActiveRecordError, neverblock_driver_error
          whole = true
          raise
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          outside = FromOutside === e
          raise
        ensure
          outside ||= !whole && Compat.killed?
          neverblock_abandon unless whole || (neverblock_reads_on? && !outside)
        end

        # Whether the driver reads the rest of an old answer before it sends the next query.
        def neverblock_reads_on?
          false
        end

        # A closed connection is marked too: its driver may have closed it, and ActiveRecord notes
        # only what a StandardError has ended.
        def neverblock_abandon
          raw = @raw_connection or return
          closed = neverblock_closed?(raw)
          return unless closed || neverblock_unfinished?(raw)

          @verified = false
          @last_activity = nil
          neverblock_close(raw) unless closed
        rescue FromOutside
          raise
        rescue StandardError
          nil # it was lost already
        end

        # Whether an answer may be under way.
        def neverblock_unfinished?(_raw)
          true
        end

        # libpq tells whether an answer is under way.
        module PostgreSQL
          include Guard

          WHOLE = [0, 2, 3].freeze # PQTRANS_IDLE, PQTRANS_INTRANS, PQTRANS_INERROR (libpq-fe.h)

          # Called before the connection goes back to its pool. May park.
          # @return [void]
          def neverblock_settle
            neverblock_abandon
          end

          private

          def neverblock_reads_on?
            true
          end

          def neverblock_driver_error
            ::PG::Error
          end

          def neverblock_closed?(raw)
            raw.finished?
          end

          def neverblock_unfinished?(raw)
            !WHOLE.include?(raw.transaction_status)
          end

          # ActiveRecord asks the connection for its transaction. A closed connection raises then,
          # which would hide the error that has ended the query.
          def retryable_query_error?(...)
            !@raw_connection&.finished? && super
          end

          # Where that does not block the thread, the server is told too (db/pg.rb).
          def neverblock_close(raw)
            return raw.close unless Compat.scheduler && raw.respond_to?(:neverblock_abandon)

            raw.neverblock_abandon
          end
        end

        # The client has closed the connection already where it was waiting.
        module Mysql2
          include Guard

          private

          def neverblock_driver_error
            ::Mysql2::Error
          end

          def neverblock_closed?(raw)
            raw.closed?
          end

          def neverblock_close(raw)
            raw.close
          end
        end

        # Closes the descriptor without the protocol's COM_QUIT, which would wait for the answer.
        module Trilogy
          include Guard

          private

          def neverblock_driver_error
            ::Trilogy::Error
          end

          def neverblock_closed?(raw)
            raw.closed?
          end

          def neverblock_close(raw)
            raw.discard!
          end
        end
        GUARDS = {
          active_record_postgresqladapter: PostgreSQL,
          active_record_mysql2adapter: Mysql2,
          active_record_trilogyadapter: Trilogy
        }.freeze
        private_constant :GUARDS
      end
    end
  end
end
