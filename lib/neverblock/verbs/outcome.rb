# frozen_string_literal: true

# How a block ended that ran elsewhere (on a thread, in a fiber), brought back to who asked for it: a value, or what it raised, threw or left by `break`.

require "neverblock/errors"

module NeverBlock
  class Outcome
    # @return [Exception, nil]
    attr_reader :error

    # Calls the block.
    # @return [Outcome]
    def self.of
      new(yield, nil)
    rescue Exception => e # rubocop:disable Lint/RescueException -- it is raised again by who asked
      new(nil, e)
    end

    # Of two exceptions that were raised into a fiber while it could not end yet, the one to go on with: what ends more than an error stays, and of deadlines
    # the outer one's is not lost for an inner one's; else the later.
    def self.weightier(first, later)
      return first if later.is_a?(StandardError) && !first.is_a?(StandardError)
      return first if later.is_a?(DeadlineExceeded) && first.is_a?(DeadlineExceeded) && later.deadline&.within?(first.deadline)

      later
    end

    def initialize(value, error)
      @value = value
      @error = error
    end

    # The value, or raises here what was raised there. Blocks cannot throw or break across threads and fibers: Ruby raises for it there, and it is done here.
    # The backtrace of an exception goes on with where it was asked for.
    # @param breaks [Boolean] the block is the one given to the method that asks: `break` ends that method with its value
    # @param joins [Boolean] false: the backtrace stays the block's own
    def get(breaks:, joins: true)
      return @value unless @error
      return @error.exit_value if breaks && broke?

      throw_on if @error.is_a?(UncaughtThrowError)
      join_backtraces if joins && !@error.frozen?
      raise @error
    end

    private

    # By the block itself, not by a proc it calls: Ruby raises at the break, and nothing lies between that and us.
    def broke?
      return false unless @error.is_a?(LocalJumpError) && @error.reason == :break

      places = @error.backtrace || []
      depth = places.index { |place| place.match?(OURS) } || 0
      places.first(depth).map { |place| place[/\D*\z/].sub(/(?:rescue|ensure) in /, "") }.uniq.size == 1
    end

    def throw_on
      throw @error.tag, @error.value
    rescue UncaughtThrowError
      nil
    end

    OURS = %r{\A#{Regexp.escape(File.expand_path("..", __dir__))}/(?:verbs/(?:offload|all|outcome)|compat/handle_interrupt)[./]}
    private_constant :OURS

    def join_backtraces
      there = (@error.backtrace || []).reverse.drop_while { |place| place.match?(OURS) }.reverse
      @error.set_backtrace(there + caller.drop_while { |place| place.match?(OURS) })
    end
  end
end
