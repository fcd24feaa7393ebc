# frozen_string_literal: true

# Describes in one line for the log how a worker has ended and what that cost.

module NeverBlock
  module Cluster
    module LastWords
      LINES = 4

      module_function

      # @param status [Process::Status, Hash, nil] with exitstatus and termsig; nil: unknown
      # @return [String] such as "was killed by SIGKILL"
      def ended(status)
        signal, code = status && status.values_at(:signal, :code)
        return "has ended in an unknown way" unless signal || code
        return "was killed by SIG#{Signal.signame(signal) || signal}" if signal

        code.zero? ? "has ended by itself (status 0)" : "has ended with status #{code}"
      end

      # @param error [Exception] raised by a hook, or while loading the application
      # @return [String] such as "no such table (RuntimeError) at config.ru:3"
      def raised(error)
        where = error.backtrace&.first
        what = "#{error.message} (#{error.class})"
        what = "exit(#{error.status}) was called" if error.is_a?(SystemExit)
        "#{what}#{" at #{where}" if where}"
      end

      # @param cost [Hash] result of Channel#end
      # @return [String, nil] nil: it was running no request
      def cost(cost)
        parts = [counted(cost[:failed], "got 502", "got 502"),
                 counted(cost[:cut], "was aborted in its response",
                         "were aborted in their responses")].compact
        again = counted(cost[:again], "runs elsewhere", "run elsewhere")
        return again && "of its requests #{again}" if parts.empty?

        running = list(cost[:lines].to_a, cost[:failed].to_i + cost[:cut].to_i)
        "it was running #{running}; #{[*parts, again].compact.join(", ")}"
      end

      # @param lines [Array<String>] requests
      # @param count [Integer] number of all requests
      # @return [String] such as "GET /slow and 3 more"
      def list(lines, count = lines.size)
        shown = lines.first(LINES)
        return counted(count, "request", "requests").to_s if shown.empty?

        more = count - shown.size
        "#{shown.join(", ")}#{" and #{more} more" if more.positive?}"
      end

      def counted(number, one, many)
        return if number.nil? || number.zero?

        "#{number} #{number == 1 ? one : many}"
      end
    end
  end
end
