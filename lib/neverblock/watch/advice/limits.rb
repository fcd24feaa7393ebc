# frozen_string_literal: true

# Waits for other servers that nothing ends but their answer.

module NeverBlock
  module Watch
    module Advice
      class Limits
        KINDS = %w[http io].freeze
        # Shorter ones are not worth a word, in seconds.
        LEAST_S = 0.1

        # frame: the application's innermost.
        Found = Struct.new(:kind, :what, :frame, :waited_s) do
          def key
            [what, frame.path, frame.line]
          end
        end

        # @param request [Request]
        # @return [Array<Found>]
        def of(request)
          waits = request.waits_for(KINDS).select { |wait| unlimited?(wait) }
          waits.group_by { |wait| [wait.what, wait.own_frames.last] }.map do |(what, frame), same|
            longest = same.max_by(&:for_s)
            Found.new(longest.kind, what, frame, longest.for_s)
          end
        end

        private

        # What names an address is no pipe and no terminal.
        def unlimited?(wait)
          !wait.ends && wait.for_s >= LEAST_S && wait.what.to_s.match?(/:\d+\z/)
        end
      end
    end
  end
end
