# frozen_string_literal: true

# How a block ended that ran elsewhere, on a thread or in a fiber: with a value, or with what it
# raised, threw or left by `break`. The caller gets it with #get.

require "neverblock/errors"
require "neverblock/errors/backtrace"

module NeverBlock
  class Outcome
    # @return [Exception, nil]
    attr_reader :error

    # Calls the block.
    # @return [Outcome]
    def self.of
      new(yield, nil)
    rescue Exception => e # rubocop:disable Lint/RescueException -- #get raises it again
      new(nil, e)
    end

    # Of two exceptions that were raised into a fiber before it could end, the one to continue with.
    # An exception that is no StandardError has precedence, then the outer of two deadlines, then
    # the later exception.
    def self.weightier(first, later)
      return first if later.is_a?(StandardError) && !first.is_a?(StandardError)
      return first if later.is_a?(DeadlineExceeded) && first.is_a?(DeadlineExceeded) &&
                      later.deadline&.within?(first.deadline)

      later
    end

    def initialize(value, error)
      @value = value
      @error = error
    end

    # Returns the value, or raises here what was raised there: its
    # backtrace goes on with the caller's. Ruby cannot throw or break across
    # threads and fibers and raises instead; the throw or break is repeated here.
    # @param breaks [Boolean] whether the block is the one given to the calling method: `break` then
    #   ends that method with its value
    def get(breaks:)
      return @value unless @error
      return @error.exit_value if breaks && broke?

      throw_on if @error.is_a?(UncaughtThrowError)
      Backtrace.join(@error)
      raise @error
    end

    private

    # Whether the block itself broke, not a proc that it calls. Ruby raises at the `break`, so that
    # only this one place lies before our frames.
    def broke?
      return false unless @error.is_a?(LocalJumpError) && @error.reason == :break

      places = @error.backtrace || []
      depth = places.index { |place| place.match?(OURS) } || 0
      names = places.first(depth).map do |place|
        place[/\D*\z/].sub(/(?:rescue|ensure) in /, "")
      end
      names.uniq.size == 1
    end

    def throw_on
      throw @error.tag, @error.value
    rescue UncaughtThrowError
      nil
    end

    OURS = %r{\A#{Regexp.escape(File.expand_path("..", __dir__))}/
              (?:verbs/(?:offload|all|outcome|carry)|compat/handle_interrupt)[./]}x
    private_constant :OURS
  end
end
