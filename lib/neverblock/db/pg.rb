# frozen_string_literal: true

# pg parks the fiber wherever it waits by itself, from 1.3 on. What it leaves is mended here, while the fiber has a scheduler of ours; elsewhere every call is upstream's.
# docs/guides/postgresql.md has the table. For pg 1.5 to 1.7.

require "neverblock/db/pg/large_objects"
require "neverblock/db/pg/lent"
require "neverblock/db/spell"
require "neverblock/verbs/offload"

module NeverBlock
  module DB
    module Pg
      # Seconds of work on rows after which others have a turn.
      LONGEST_SPELL_S = 0.005

      # Puts it in place once, when pg is loaded.
      def self.apply
        return unless defined?(::PG::Connection) && ::PG::Connection.method_defined?(:sync_exec)
        return if ::PG::Connection.include?(Connection)

        ::PG::Connection.prepend(Connection, LargeObjects::Calls, Lent)
        ::PG::CancelConnection.prepend(Lent) if defined?(::PG::CancelConnection) # libpq 17
        ::PG::Connection.singleton_class.prepend(Connecting)
        ::PG::Result.prepend(Rows)
      end

      # Prepended to PG::Connection.singleton_class.
      module Connecting
        # What libpq does by itself while it connects: it looks up names and services, asks Kerberos, reads certificates, computes TLS and SCRAM. It does so
        # without Ruby's lock, and keeps the thread. What is under way is waited for when the caller is cancelled, as nobody else may use the connection then.
        def connect_start(...)
          connection = nil
          NeverBlock.offload(on_cancel: :wait) { connection = super }
        rescue Exception # rubocop:disable Lint/RescueException -- raised again
          connection.finish if connection && !connection.finished?
          raise
        end

        def sync_connect(...)
          Compat.scheduler ? async_connect(...) : super
        end

        private

        # In its waits alone is it ended, which finishes the connection (Connection#async_connect_or_reset).
        def connect_to_hosts(*)
          Compat.unsliced { super }
        end
      end

      # Prepended to PG::Connection.
      module Connection
        # The blocking calls that have another with the same results which parks (pg 1.5 has none for close_).
        SYNC = %i[exec exec_params prepare exec_prepared describe_prepared describe_portal close_prepared close_portal set_client_encoding cancel reset
                  get_last_result].freeze

        SYNC.each do |name|
          define_method(:"sync_#{name}") do |*arguments, &block|
            parks = :"async_#{name}"
            Compat.scheduler && respond_to?(parks) ? public_send(parks, *arguments, &block) : super(*arguments, &block)
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

        # Blocks where no result has come yet.
        def sync_get_result
          block if Compat.scheduler
          super
        end

        def sync_encrypt_password(password, user, algorithm = nil)
          algorithm || !Compat.scheduler ? super : async_encrypt_password(password, user)
        end

        # These are called row after row, and wait seldom.
        def get_copy_data(...)
          spell.pause if Compat.scheduler
          super
        end

        def put_copy_data(...)
          spell.pause if Compat.scheduler
          super
        end

        # pg's own alias is past Lent#finish.
        def close
          finish
        end

        # Seconds for telling the server that nobody waits for the answer.
        CANCEL_S = 1

        # Closes a connection, perhaps in the midst of a query, which the server would otherwise run to its end.
        def neverblock_abandon
          NeverBlock.deadline(CANCEL_S) { cancel } if !finished? && transaction_status == ::PG::PQTRANS_ACTIVE
        rescue StandardError
          nil # it ends by itself
        ensure
          close unless finished?
        end

        private

        # A connection that was not to be waited for any longer would hold its place in the server until it is collected.
        def async_connect_or_reset(poll)
          super
        rescue Exception # rubocop:disable Lint/RescueException -- raised again
          finish if poll == :connect_poll && !finished?
          raise
        end

        # The IO is made here, and kept: pg's functions would make it at their first wait, past Lent#socket_io.
        def polled(status)
          socket_io if status == ::PG::PGRES_POLLING_OK
          status
        end

        def spell
          @neverblock_spell ||= Spell.new(LONGEST_SPELL_S)
        end
      end

      # Prepended to PG::Result: rows are made when they are asked for, which takes long where they are many.
      module Rows
        # Rows that are made within the time of a turn.
        FEW = 1_000

        # #each is behind to_a and map.
        %i[each each_row stream_each stream_each_row stream_each_tuple].each do |name|
          define_method(name) do |*arguments, &block|
            next super(*arguments, &block) unless block && neverblock_turns?(name)

            spell = Spell.new(LONGEST_SPELL_S)
            super(*arguments) do |row|
              spell.pause
              block.call(row)
            end
          end
        end

        # Enumerable makes all rows to count them, and ActiveRecord counts them after each query.
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
