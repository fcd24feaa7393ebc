# frozen_string_literal: true

# Sequel tells connections apart by thread unless it is told otherwise: all fibers of an executor would share one connection, and read each other's answers.
# So its extension is loaded wherever Sequel is, if the application has not done it (lib/sequel/extensions/neverblock.rb; every Sequel with Sequel.current).

module NeverBlock
  module Compat
    module Sequel
      # Puts it in place once, when Sequel is loaded.
      # @raise [Error] when this Sequel cannot be used with fibers
      def self.apply
        return if @applied || !defined?(::Sequel::Database) || !defined?(::Sequel::ConnectionPool)

        ::Sequel.extension(:neverblock)
        @applied = true
      end
    end
  end
end
