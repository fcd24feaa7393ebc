# frozen_string_literal: true

# Where every entry has to be JSON, the I/O loop's own few lines (it writes them in C: no descriptors left, no room for a request body) come through a pipe and
# are made entries here. The I/O loop never waits for this thread: its log drops and counts what a full pipe does not take.

module NeverBlock
  class Log
    class CoreLines
      # Seconds for the last lines to come through.
      CLOSE_S = 1

      # @param log [Log]
      def initialize(log)
        @log = log
        @reader, @writer = IO.pipe
        @thread = Thread.new { read }
        @thread.name = "nb-core-log"
      end

      # @return [Integer] descriptor for the engine
      def fileno
        @writer.fileno
      end

      # Once the engine has ended.
      # @return [void]
      def close
        @writer.close
        @thread.join(CLOSE_S) || @thread.kill
        @reader.close
      end

      private

      def read
        while (line = @reader.gets)
          @log.warn(line.delete_prefix(PREFIX).chomp, source: "io_loop")
        end
      end
    end
  end
end
