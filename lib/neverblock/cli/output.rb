# frozen_string_literal: true

# Output of the commands that talk to a running server: written at once; a closed pipe is no error.

module NeverBlock
  module CLI
    module Output
      private

      # Writes to @out.
      # @param text [String]
      # @return [Integer] exit status
      def show(text)
        @out.write(text)
        @out.flush
        OK
      rescue Errno::EPIPE
        OK
      end
    end
  end
end
