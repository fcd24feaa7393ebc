# frozen_string_literal: true

# How long to wait after failures, one after the other: each time twice as long, with a random part,
# so that many servers do not come back at once. Where the ACME server names a time, not before it.

module NeverBlock
  module TLS
    class Acme
      class BackOff
        # Seconds. Let's Encrypt allows 5 failed validations of a name in an hour
        # (https://letsencrypt.org/docs/rate-limits): 0, 2, 6, 14 and 30 minutes.
        FIRST_S = 120
        MOST_S = 3_600
        # Longest time in seconds that is believed, whoever names it: the longest window of Let's
        # Encrypt's limits is a week. A clock may have been wrong.
        LIMIT_S = 7 * 86_400
        # The random part, of the time.
        JITTER = 0.25
        # Failures after which each wait is the longest.
        FAILURES_MOST = (MOST_S / FIRST_S).bit_length

        # failures: in a row. at: when to try again; nil: the last try has worked, or there was
        # none. limit: what the ACME server has said; nil: nothing.
        State = Struct.new(:failures, :at, :limit)
        NONE = State.new(0).freeze

        # @return [State] frozen
        attr_reader :state

        # @param state [State]
        # @param random [#rand]
        def initialize(state = NONE, random: Random)
          @state = state
          @random = random
        end

        # @return [Time, nil] see State
        def at
          @state.at
        end

        # @param now [Time]
        # @param not_before [Time, nil] what the ACME server says
        # @return [Time] when to try again
        def failed(now, not_before = nil)
          @state = after_failure(now, not_before)
          at
        end

        # @param now [Time]
        # @param not_before [Time, nil] what the ACME server says
        # @return [State] what a failure would lead to
        def after_failure(now, not_before = nil)
          not_before = [not_before, now + LIMIT_S].min if not_before
          wait = [FIRST_S * (2**@state.failures), MOST_S].min
          at = [now + (wait * (1 + @random.rand(JITTER))), not_before].compact.max
          State.new([@state.failures + 1, FAILURES_MOST].min, at, not_before).freeze
        end

        # The clock may have been set back since the last failure.
        # @param now [Time]
        # @return [void]
        def bound(now)
          latest = now + LIMIT_S
          return unless at && at > latest

          @state = State.new(@state.failures, latest, @state.limit && [@state.limit, latest].min)
                        .freeze
        end

        # @return [void]
        def worked
          @state = NONE
        end

        # Somebody has mended something: the next try is due, unless the ACME server has named a
        # time.
        # @param now [Time]
        # @return [void]
        def hurry(now)
          limit = @state.limit
          @state = at ? State.new(0, [now, limit].compact.max, limit).freeze : NONE
        end
      end
    end
  end
end
