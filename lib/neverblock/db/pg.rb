# frozen_string_literal: true

# pg parks the fiber in its own waits, from 1.3 on. The calls that wait in libpq are mended here,
# for fibers of our scheduler; elsewhere every call is pg's own. docs/guides/postgresql.md lists
# them. For pg 1.5 to 1.7.

require "neverblock/db/pg/large_objects"
require "neverblock/db/pg/lent"
require "neverblock/db/pg/pipelined"
require "neverblock/db/cpu_burst"
require "neverblock/verbs/offload"

module NeverBlock
  module DB
    module Pg
      # Seconds of work on rows after which other fibers run.
      LONGEST_BURST_S = 0.005

      # Installs it once, when pg is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::PG::Connection) && ::PG::Connection.method_defined?(:sync_exec)
        return if ::PG::Connection.include?(Connection)

        ::PG::Connection.prepend(Connection, LargeObjects::Calls, Lent)
        # libpq 14
        Pipelined.apply if ::PG::Connection.method_defined?(:enter_pipeline_mode)
        # libpq 17
        ::PG::CancelConnection.prepend(Cancelling, Lent) if defined?(::PG::CancelConnection)
        ::PG::Connection.singleton_class.prepend(Connecting)
        ::PG::Result.prepend(Rows)
      end

      # Prepended to PG::Connection.singleton_class.
      module Connecting
        # While it connects, libpq looks up names and services, asks Kerberos, reads certificates
        # and computes TLS and SCRAM. It does so without Ruby's lock, and blocks the thread. A
        # cancelled caller waits for the end, as nobody else may use the connection meanwhile.
        def connect_start(...)
          connection = nil
          started = NeverBlock.offload(on_cancel: :wait) { connection = super }
        ensure
          connection.finish unless started || connection.nil? || connection.finished?
        end

        def sync_connect(...)
          Compat.scheduler ? async_connect(...) : super
        end

        private

        # Only its waits are ended, which finishes the connection
        # (Connection#async_connect_or_reset).
        def connect_to_hosts(*)
          Compat.unsliced { super }
        end
      end

      # Prepended to PG::CancelConnection. A cancel request is a connection of its own, for which
      # libpq does what it does for others.
      module Cancelling
        def start(...)
          NeverBlock.offload(on_cancel: :wait) { super }
        end

        def poll(...)
          NeverBlock.offload(on_cancel: :wait) { super }
        end
      end

      # Prepended to PG::Connection.
      module Connection
        # Blocking calls for which there is one that parks, with the same results. pg 1.5 has none
        # for close_*.
        SYNC = %i[
          exec exec_params prepare exec_prepared describe_prepared describe_portal
          close_prepared close_portal set_client_encoding cancel reset get_last_result
        ].freeze

        SYNC.each do |name|
          define_method(:"sync_#{name}") do |*arguments, &block|
            parks = :"async_#{name}"
            next super(*arguments, &block) unless Compat.scheduler && respond_to?(parks)

            public_send(parks, *arguments, &block)
          end
        end

        def connect_poll
          polled(NeverBlock.offload(on_cancel: :wait) { super })
        end

        def reset_start2(...)
          NeverBlock.offload(on_cancel: :wait) { super }
        end

        def reset_poll
          polled(NeverBlock.offload(on_cancel: :wait) { super })
        end

        # Waits in the loop until there is a result.
        def sync_get_result
          block if Compat.scheduler
          super
        end

        def sync_encrypt_password(password, user, algorithm = nil)
          return super if algorithm || !Compat.scheduler

          async_encrypt_password(password, user)
        end

        # Called for each row, and seldom waits.
        def get_copy_data(...)
          burst.pause if Compat.scheduler
          super
        end

        def put_copy_data(...)
          burst.pause if Compat.scheduler
          super
        end

        # pg's own alias is past Lent#finish.
        def close
          finish
        end

        # Time limit, in seconds, for the cancel request.
        CANCEL_S = 1

        # Asks the server to end the query that is under way, if there is one. Parks for CANCEL_S
        # at most, also in a shield.
        # @return [void]
        def neverblock_cancel
          return if finished? || transaction_status != ::PG::PQTRANS_ACTIVE
          return neverblock_try_to_cancel unless Compat.scheduler

          neverblock_try_in_a_fiber&.pop
        end

        # Closes a connection, perhaps in the middle of a query. The server would run the query to
        # its end, so it gets a cancel request first. May park.
        def neverblock_abandon
          neverblock_cancel
        ensure
          close unless finished?
        end

        private

        # @return [Thread::Queue, nil] given an element when it was tried; nil: the loop accepts no
        #   fiber any more
        def neverblock_try_in_a_fiber
          tried = Thread::Queue.new
          Fiber.schedule do
            neverblock_try_to_cancel
          ensure
            tried << true
          end
          tried
        rescue FromOutside
          raise
        rescue StandardError
          nil
        end

        # libpq's cancel has no limit of its own: a server that is stopped, or out of reach, would
        # be waited for until TCP gives up.
        def neverblock_try_to_cancel
          NeverBlock.deadline(CANCEL_S) { cancel }
        rescue ::PG::Error, SystemCallError, IOError, DeadlineExceeded
          nil # the query ends by itself
        end

        # An interrupted connect closes its connection, which would otherwise use one of the
        # server's until it is collected.
        def async_connect_or_reset(poll)
          result = super
          ended = true
          result
        ensure
          finish if !ended && poll == :connect_poll && !finished?
        end

        # The IO is made here, and kept: pg's functions would make it at their first wait, past
        # Lent#socket_io.
        def polled(status)
          socket_io if status == ::PG::PGRES_POLLING_OK
          status
        end

        def burst
          @neverblock_burst ||= CpuBurst.new(LONGEST_BURST_S)
        end
      end

      # Prepended to PG::Result. Rows become Ruby objects on demand, which takes long for many rows.
      module Rows
        # Number of rows up to which that takes less than a turn.
        FEW = 1_000

        # #to_a and #map call #each.
        %i[each each_row stream_each stream_each_row stream_each_tuple].each do |name|
          define_method(name) do |*arguments, &block|
            next super(*arguments, &block) unless block && neverblock_turns?(name)

            burst = CpuBurst.new(LONGEST_BURST_S)
            Pipelined.closing(@neverblock_pipeline) do
              super(*arguments) do |row|
                burst.pause
                block.call(row)
              end
            end
          end
        end

        # Enumerable would make all rows to count them. ActiveRecord counts after each query.
        def count(*arguments, &block)
          arguments.empty? && !block ? ntuples : super
        end

        def values
          return super unless neverblock_turns?(:values)

          rows = []
          each_row { |row| rows << row }
          rows
        end

        private

        def neverblock_turns?(name)
          (name.start_with?("stream") || ntuples > FEW) && Compat.scheduler
        end
      end
    end
  end
end
