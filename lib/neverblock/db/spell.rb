# frozen_string_literal: true

require "neverblock/deadline"

module NeverBlock
  module DB
    # A fiber that is handed row after row out of memory does not wait, and nobody else runs: so it gives way when it has gone on for long.
    class Spell
      # @param longest [Float] seconds
      def initialize(longest)
        @longest = longest
        @began = Deadline.now
      end

      # Lets the others run when it is time. Parks.
      # @return [void]
      def pause
        return if Deadline.now - @began < @longest

        sleep(0)
        @began = Deadline.now
      end
    end
  end
end
