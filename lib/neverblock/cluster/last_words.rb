# frozen_string_literal: true

# How a worker has ended and what that cost, in one line for the log.

module NeverBlock
  module Cluster
    module LastWords
      LINES = 4

      module_function

      # @param status [Process::Status, Hash, nil] with exitstatus and termsig; nil: nobody knows
      # @return [String] such as "was killed by SIGKILL"
      def ended(status)
        signal, code = status && status.values_at(:signal, :code)
        return "ended, nobody knows how" unless signal || code
        return "was killed by SIG#{Signal.signame(signal) || signal}" if signal

        code.zero? ? "ended by itself (status 0)" : "ended with status #{code}"
      end

      # @param error [Exception] of a hook, or of loading the application
      # @return [String] such as "no such table (RuntimeError) at config.ru:3"
      def raised(error)
        where = error.backtrace&.first
        what = error.is_a?(SystemExit) ? "exit(#{error.status}) was called" : "#{error.message} (#{error.class})"
        "#{what}#{" at #{where}" if where}"
      end

      # @param cost [Hash] of Channel#end
      # @return [String, nil] nil: it was running nothing
      def cost(cost)
        parts = [counted(cost[:failed], "was answered 502", "were answered 502"), counted(cost[:cut], "was cut in its answer", "were cut in their answers")].compact
        again = counted(cost[:again], "runs elsewhere", "run elsewhere")
        return again && "of its requests #{again}" if parts.empty?

        "it was running #{list(cost[:lines].to_a, cost[:failed].to_i + cost[:cut].to_i)}; #{[*parts, again].compact.join(", ")}"
      end

      # @param lines [Array<String>] requests
      # @param count [Integer] how many there are
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
