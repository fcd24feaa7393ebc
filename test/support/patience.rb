# frozen_string_literal: true

# The one bound of waits for what has to happen. It is so long that a machine on which any thread or
# process may stand still for seconds is no failure, and that a bug fails and does not hang. Nothing
# may be proven by how much of it goes by.

module Patience
  SECONDS = Integer(ENV.fetch("NB_TEST_WAIT_SECONDS", "60"), 10)
  POLL_S = 0.01

  # Seconds that somebody who asks again and again still has. Where the whole machine stood still in
  # between (a stopped container, SIGSTOP), what is waited for has not had that time either: it
  # counts as one second.
  class Limit
    STANDSTILL_S = 1.0

    # @param clock [#call] monotonic seconds
    def initialize(seconds = SECONDS, clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
      @left = seconds
      @clock = clock
      @asked = clock.call
    end

    def over?
      now = @clock.call
      @left -= [now - @asked, STANDSTILL_S].min
      @asked = now
      @left.negative?
    end
  end

  # Waits until the block is true.
  # @param what [String] is awaited
  # @param more [#call, nil] what else a reader of the failure needs
  # @return what the block returned
  # @raise [Minitest::Assertion] it was not for SECONDS
  def self.await(what, more = nil)
    limit = Limit.new
    until (found = yield)
      if limit.over?
        raise Minitest::Assertion, ["not within #{SECONDS} s: #{what}", *more&.call].join("\n")
      end

      sleep POLL_S
    end
    found
  end
end
