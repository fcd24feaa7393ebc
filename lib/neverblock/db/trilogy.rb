# frozen_string_literal: true

# trilogy waits through Ruby, so that all its waits park, and it closes a connection that is left in
# the middle of an answer. This adds a KILL for the query, so that the server ends it (MysqlKill).
# Before 2.11 its socket is not Ruby's, and has no address here: those releases stay as they are.

require "neverblock/db/mysql_kill"

module NeverBlock
  module DB
    module Trilogy
      # What _connect of a release takes that is given a Ruby socket: with it the encoding, the
      # charset and the options.
      ARGUMENTS = 4
      private_constant :ARGUMENTS

      # Installs it once, when trilogy is loaded.
      # @param trilogy [Class] the gem's own
      # @return [void]
      def self.apply(trilogy = ::Trilogy)
        return unless trilogy.const_defined?(:VERSION)
        return if !trilogy.private_method_defined?(:_connect) || trilogy.include?(Client)

        trilogy.prepend(Client) if trilogy.instance_method(:_connect).arity == ARGUMENTS
      end

      # Prepended to Trilogy.
      module Client
        def initialize(...)
          super
          @neverblock_id = neverblock_ask_for_id if @neverblock_address&.unix?
        end

        def query(sql)
          finished = false
          result = super
          finished = true
          result
        rescue ::Trilogy::Error
          finished = true # the error comes from the server, or the server is gone
          raise
        ensure
          neverblock_kill(sql) unless finished
        end

        private

        def _connect(socket, *)
          @neverblock_address = socket.local_address
          super
        end

        def neverblock_kill(sql)
          return unless @neverblock_address && sql.is_a?(String)

          seconds = MysqlKill.seconds
          options = connection_options.merge(connect_timeout: seconds, read_timeout: seconds)
          MysqlKill.later(@neverblock_address, server: options, id: @neverblock_id, sql: sql) do
            ::Trilogy.new(options)
          end
        end

        # The session's number, by which alone sessions of a UNIX socket differ. A server that
        # refuses to tell it is used without.
        def neverblock_ask_for_id
          query("SELECT CONNECTION_ID()").rows.first.first
        rescue ::Trilogy::QueryError, ::Trilogy::ProtocolError
          nil
        end
      end
    end
  end
end
