# frozen_string_literal: true

# Sees to it that the process ends once the server has ended and all at_exit blocks have run. Ruby
# waits for its threads then, without a limit: one in a call of C code that cannot be interrupted
# would keep the process for ever (such as grpc's, where a call was left unfinished).

module NeverBlock
  module Boot
    module ExitLimit
      # What Ruby may take to end threads, and to run finalizers.
      SECONDS = 5

      # To be called before the application is loaded: at_exit blocks run in reverse order.
      # @return [void]
      def self.prepare
        process = ::Process.pid
        at_exit { start($!) if ::Process.pid == process && defined?(NeverBlock::ExitLimit) }
      end

      def self.start(error)
        status = error.is_a?(SystemExit) ? error.status : (error ? 1 : 0)
        NeverBlock::ExitLimit.begin(SECONDS, status)
      end
      private_class_method :start
    end
  end
end
