# frozen_string_literal: true

# What the commands that talk to a running server print: at once, and quietly into a pipe whose reader has had enough.

module NeverBlock
  module CLI
    module Output
      private

      # @param text [String] to @out
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
