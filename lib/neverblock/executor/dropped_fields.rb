# frozen_string_literal: true

# Names of fields that are not passed on, and that the log has named: of requests to the
# application, of responses to the client.

module NeverBlock
  class Executor
    class DroppedFields
      # Most names that are logged. Clients choose them, or an application that makes them up, so
      # their number must be bounded.
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

      # The names in requests to this process.
      SEEN = new
      # Those in its responses.
      LEFT_OUT = new
    end
  end
end
