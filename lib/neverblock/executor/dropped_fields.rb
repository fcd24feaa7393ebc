# frozen_string_literal: true

# Names of request fields that are not passed to the application, and that the log has named.

module NeverBlock
  class Executor
    class DroppedFields
      # Most names that are logged. Clients choose them, so their number must be bounded.
      NAMES_MOST = 8

      def initialize
        @names = {}
      end

      # @param name [String] in any case
      # @return [Boolean] whether to log it; true once for each of the first names
      def new?(name)
        key = name.downcase
        return false if @names.size >= NAMES_MOST || @names.key?(key)

        @names[key] = true
      end

      # The names of this process.
      SEEN = new
    end
  end
end
