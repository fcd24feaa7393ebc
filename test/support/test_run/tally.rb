# frozen_string_literal: true

class TestRun
  # Counts of tests, with names where a reader needs them. Tallies add up.
  class Tally
    attr_reader :passed, :failed, :skips, :failures, :unstable, :seconds

    # @param skips [Array<(String, String)>] name and reason of each skipped test
    # @param failures [Array<String>] names; `failed` may be more than are named
    # @param unstable [Array<String>] names of tests that failed, and passed when they ran again;
    #   they are among the passed
    # @param seconds [Hash{String => Float}] what each file took
    def initialize(passed: 0, failed: 0, skips: [], failures: [], unstable: [], seconds: {})
      @passed = passed
      @failed = failed
      @skips = skips
      @failures = failures
      @unstable = unstable
      @seconds = seconds
    end

    def +(other)
      Tally.new(
        passed: passed + other.passed, failed: failed + other.failed,
        skips: skips + other.skips, failures: failures + other.failures,
        unstable: unstable + other.unstable,
        seconds: seconds.merge(other.seconds) { |_, mine, its| mine + its }
      )
    end

    def skipped
      skips.size
    end

    # @param second [Tally] of what failed here, run again alone
    # @return [Tally] what passes there passed, and is named unstable; this one when not all of it
    #   was run again
    def after(second)
      return self if second.passed + second.failed < failed

      passing = failures - second.failures
      Tally.new(passed: passed + passing.size, failed: second.failed, skips: skips,
                failures: second.failures, unstable: unstable + passing, seconds: seconds)
    end

    # A run that ended badly although no single test is to blame.
    def with_failure(name)
      self + Tally.new(failed: 1, failures: [name])
    end

    def to_s
      "#{passed} passed, #{failed} failed, #{skipped} skipped"
    end
  end
end
