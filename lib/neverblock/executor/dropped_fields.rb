# frozen_string_literal: true

# Names of fields that are not passed on, and that the log has named: of requests to the
# application, of responses to the client.

require "neverblock/log/once"

module NeverBlock
  class Executor
    class DroppedFields
      # Most names that are logged. Clients choose them, or an application that makes them up, so
      # their number must be bounded.
      NAMES_MOST = 8

      def initialize
        @once = Log::Once.new(NAMES_MOST)
      end

      # @param name [String] in any case
      # @return [Boolean] whether to log it; true once for each of the first names
      def new?(name)
        @once.new?(name.downcase)
      end

      # The names in requests to this process.
      SEEN = new
      # Those in its responses.
      LEFT_OUT = new
    end
  end
end
