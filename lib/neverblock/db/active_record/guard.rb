# frozen_string_literal: true

# A query that is left before its answer has been read (its request's deadline, a client that has left, Timeout, `throw`, Thread#raise) leaves a connection on which the next
# answer would be this one's: it is closed there and then. The adapter stays in its pool and connects again when it is next used; a transaction on it is
# lost, as with a connection that was cut.

module NeverBlock
  module DB
    module ActiveRecord
      # Prepended to ActiveRecord's adapters, whose subclasses have it too.
      module Guard
        # An adapter brings its driver along, perhaps inside the loop.
        # @return [void]
        def self.install
          { active_record_postgresqladapter: PostgreSQL, active_record_mysql2adapter: Mysql2, active_record_trilogyadapter: Trilogy }.each do |adapter, guard|
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

        # An error of the driver's or of ActiveRecord's own comes from where they know what they have read.
        def neverblock_guard
          result = yield
          whole = true
          result
        rescue ::ActiveRecord::ActiveRecordError, neverblock_driver_error
          whole = true
          raise
        ensure
          neverblock_abandon unless whole
        end

        def neverblock_abandon
          raw = @raw_connection
          return unless raw && neverblock_unfinished?(raw)

          @verified = false
          @last_activity = nil
          neverblock_close(raw)
        rescue StandardError
          nil # it was not open any more
        end

        # libpq knows whether an answer is on its way.
        module PostgreSQL
          include Guard

          WHOLE = [0, 2, 3].freeze # PQTRANS_IDLE, PQTRANS_INTRANS, PQTRANS_INERROR (libpq-fe.h)

          private

          def neverblock_driver_error
            ::PG::Error
          end

          def neverblock_unfinished?(raw)
            !raw.finished? && !WHOLE.include?(raw.transaction_status)
          end

          # ActiveRecord asks the connection for its transaction, and a closed one raises: what has ended the query would be hidden.
          def retryable_query_error?(...)
            !@raw_connection&.finished? && super
          end

          # Its server is told where that does not keep the thread (db/pg.rb).
          def neverblock_close(raw)
            Compat.scheduler && raw.respond_to?(:neverblock_abandon) ? raw.neverblock_abandon : raw.close
          end
        end

        # The client has closed it already where it was waiting.
        module Mysql2
          include Guard

          private

          def neverblock_driver_error
            ::Mysql2::Error
          end

          def neverblock_unfinished?(raw)
            !raw.closed?
          end

          def neverblock_close(raw)
            raw.close
          end
        end

        # Its descriptor is closed, without the farewell that would wait for the answer.
        module Trilogy
          include Guard

          private

          def neverblock_driver_error
            ::Trilogy::Error
          end

          def neverblock_unfinished?(raw)
            !raw.closed?
          end

          def neverblock_close(raw)
            raw.discard!
          end
        end
      end
    end
  end
end
