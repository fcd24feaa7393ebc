# frozen_string_literal: true

# trilogy waits through Ruby, so that the loop has all its waits, and closes a connection that is left in the middle of an answer. What is added: the server is told then.

require "neverblock/db/mysql_kill"

module NeverBlock
  module DB
    module Trilogy
      # Puts it in place once, when trilogy is loaded.
      # @return [void]
      def self.apply
        return if !defined?(::Trilogy::VERSION) || !::Trilogy.private_method_defined?(:_connect) || ::Trilogy.include?(Client)

        ::Trilogy.prepend(Client)
      end

      # Prepended to Trilogy.
      module Client
        def query(sql)
          finished = false
          result = super
          finished = true
          result
        rescue ::Trilogy::Error
          finished = true # it has come from the server, or the server is gone
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

          options = connection_options.merge(connect_timeout: MysqlKill.seconds, read_timeout: MysqlKill.seconds)
          MysqlKill.later(@neverblock_address, sql: sql) { ::Trilogy.new(options) }
        end
      end
    end
  end
end
