# frozen_string_literal: true

# Before a query pg reads and drops what is left of an old one. In pipeline mode it does not: there
# many queries are under way, and the next user would be given their rows. So a connection in that
# mode is closed where a fiber is ended from outside (FromOutside) in one of its waits. The next use
# raises PG::ConnectionBad.

module NeverBlock
  module DB
    module Pg
      module Pipelined
        # Prepended to PG::Connection. Only connections that enter the mode are changed.
        module Entering
          def enter_pipeline_mode
            extend(Calls) unless is_a?(Calls)
            super
          end
        end

        class << self
          # Once, when pg is loaded.
          # @return [void]
          def apply
            Calls.define
            ::PG::Connection.prepend(Entering)
          end

          # @param connection [PG::Connection, nil] nil: no pipeline's
          # @return what the block returns
          def closing(connection)
            killed_before = Compat.killed?
            yield
          rescue FromOutside
            abandon(connection)
            raise
          ensure
            abandon(connection) if !killed_before && Compat.killed?
          end

          private

          def abandon(connection)
            return if connection.nil? || connection.finished?
            return if connection.pipeline_status == ::PG::PQ_PIPELINE_OFF

            connection.neverblock_abandon
          end
        end

        # What waits, and is allowed in the mode. pg's own aliases are past each other.
        module Calls
          NAMES = %i[
            exec exec_params prepare exec_prepared query describe_prepared describe_portal
            close_prepared close_portal flush get_result get_last_result pipeline_sync
          ].freeze
          OTHER = %i[
            block discard_results notifies_wait wait_for_notify
            send_query send_query_params send_prepare send_query_prepared send_describe_prepared
            send_describe_portal send_close_prepared send_close_portal send_flush_request
            send_pipeline_sync
          ].freeze
          private_constant :NAMES, :OTHER

          # Those that this version of pg has.
          # @return [void]
          def self.define
            ways = NAMES.flat_map { |name| [name, :"async_#{name}", :"sync_#{name}"] }
            (ways + OTHER).each do |name|
              next unless ::PG::Connection.method_defined?(name)

              define_method(name) do |*arguments, &block|
                result = Pipelined.closing(self) { super(*arguments, &block) }
                # Its stream_each and others wait for the connection.
                result.instance_variable_set(:@neverblock_pipeline, self) if ::PG::Result === result
                result
              end
            end
          end
        end
      end
    end
  end
end
