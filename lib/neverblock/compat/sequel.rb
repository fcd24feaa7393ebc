# frozen_string_literal: true

# By default Sequel keeps connections by thread: all fibers of an executor would share one
# connection, and read each other's answers. So its extension is loaded wherever Sequel is, unless
# the application has loaded it (lib/sequel/extensions/neverblock.rb; every Sequel with
# Sequel.current).

module NeverBlock
  module Compat
    module Sequel
      # Installs it once, when Sequel is loaded.
      # @return [void]
      # @raise [Error] when this Sequel cannot be used with fibers
      def self.apply
        return if @applied || !defined?(::Sequel::Database) || !defined?(::Sequel::ConnectionPool)

        ::Sequel.extension(:neverblock)
        @applied = true
      end
    end
  end
end
