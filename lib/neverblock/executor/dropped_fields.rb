# frozen_string_literal: true

# Names of request fields of which the log has said that no application is given them.

module NeverBlock
  class Executor
    class DroppedFields
      # Further names are not told: clients choose them.
      NAMES_MOST = 8

      def initialize
        @names = {}
      end

      # @param name [String] in any case
      # @return [Boolean] whether it is to be told; true once for each of the first names
      def new?(name)
        key = name.downcase
        return false if @names.size >= NAMES_MOST || @names.key?(key)

        @names[key] = true
      end

      # Of this process.
      SEEN = new
    end
  end
end
