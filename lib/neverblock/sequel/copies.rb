# frozen_string_literal: true

# Prepended to Sequel's PostgreSQL databases: raises what ends a fiber during a COPY. Sequel would
# raise a DatabaseDisconnectError instead, which `rescue => e` catches. Its pool drops the
# connection before. Sequel 5.110, adapters/postgres.rb.

require "neverblock/sequel/discarded"

module NeverBlock
  module Sequel
    module Copies
      # Installs it once, where the adapter has COPY (the driver is pg).
      # @param databases [Class] of Sequel::Database
      # @return [void]
      def self.install(databases)
        return if !databases.method_defined?(:copy_table) || databases.include?(self)

        databases.prepend(self)
      end

      # @return what the block returns
      def self.raise_cause
        yield
      rescue StandardError => e
        raise e.cause if Fiber.scheduler && e.cause && Discarded.from_outside?(e.cause)

        raise
      end

      def copy_table(...)
        Copies.raise_cause { super }
      end

      def copy_into(...)
        Copies.raise_cause { super }
      end
    end
  end
end
