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
        # The random part, of the time.
        JITTER = 0.25

        # @return [Time, nil] when to try again; nil: the last try has worked, or there was none
        attr_reader :at

        # @param random [#rand]
        def initialize(random: Random)
          @random = random
          @failures = 0
        end

        # @param now [Time]
        # @param not_before [Time, nil] what the ACME server says
        # @return [Time] when to try again
        def failed(now, not_before = nil)
          wait = [FIRST_S * (2**@failures), MOST_S].min
          @failures += 1 if wait < MOST_S
          @limit = not_before
          @at = [now + (wait * (1 + @random.rand(JITTER))), not_before].compact.max
        end

        # @return [void]
        def worked
          @failures = 0
          @at = @limit = nil
        end

        # Somebody has mended something: the next try is due, unless the ACME server has named a
        # time.
        # @param now [Time]
        # @return [void]
        def hurry(now)
          @failures = 0
          @at = [now, @limit].compact.max if @at
        end
      end
    end
  end
end
