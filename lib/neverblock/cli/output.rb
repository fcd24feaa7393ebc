# frozen_string_literal: true

# Output of commands: written at once; a closed pipe is no error.

require "neverblock/config/source_error"
require "neverblock/errors"

module NeverBlock
  module CLI
    module Output
      # @param out [IO]
      # @param text [String]
      # @return [Integer] exit status
      # @raise [Error] when it cannot be written, as on a full disk
      def self.write(out, text)
        out.write(text)
        out.flush
        OK
      rescue Errno::EPIPE
        OK
      rescue SystemCallError => e
        raise Error, "cannot write the output: #{SourceError.reason(e)}"
      end

      private

      # Writes to @out.
      # @param text [String]
      # @return [Integer] exit status
      def show(text)
        Output.write(@out, text)
      end
    end
  end
end
