# frozen_string_literal: true

# What the application of this process says of the lanes of its requests, told to whoever chooses them: the I/O loop of this process, or of the front. Rules come
# when it is loaded, and again when its code is.

module NeverBlock
  module LaneRules
    # The bytes by which core/intake/path_pattern.h knows what differs from path to path.
    PART = "\x01"
    REST = "\x02"
    # As the engine bounds them (core/dispatch/lane_rules.h): rules, and bytes of all patterns.
    MAX = 1_024
    TEXT_BYTES_MAX = 65_535
    # Of routes in one line of the log.
    TOLD_MAX = 20

    # methods: names, or ["ALL"]; pattern: an absolute path with places; held: whether it goes to the lane of what must not be interrupted, else to fibers, whatever a later
    # rule says; what: the route, for people.
    Rule = Struct.new(:methods, :pattern, :held, :what)

    @rules = [].freeze
    @followers = []
    @lock = Mutex.new

    class << self
      # @return [Array<Rule>]
      attr_reader :rules

      # @param rules [Array<Rule>] in the place of those before
      # @return [void]
      def rules=(rules)
        return if rules == @rules

        @rules = rules.dup.freeze
        @lock.synchronize { @followers.dup }.each { |follower| follower.call(@rules) }
      end

      # @param follower [#call] takes the rules there are, when there are any, and those that come, on any thread
      # @return [#call] for unfollow
      def follow(follower)
        @lock.synchronize { @followers << follower }
        follower.call(@rules) unless @rules.empty?
        follower
      end

      # @param follower [#call, nil]
      # @return [void]
      def unfollow(follower)
        @lock.synchronize { @followers.delete(follower) }
      end

      # @param rows [Array<Array>] Rule#to_a, through JSON
      # @return [Array<Rule>]
      def read(rows)
        rows.map { |row| Rule.new(*row) }
      end

      # @param rules [Array<Rule>]
      # @return [String, nil] a line for the log; nil: none goes to a lane
      def told(rules)
        routes = rules.select(&:held).map(&:what).uniq
        return if routes.empty?

        more = routes.size - TOLD_MAX
        "allowblock: run on a thread of their own, one at a time in each process: #{routes.first(TOLD_MAX).join(", ")}#{" and #{more} more" if more.positive?}"
      end
    end
  end
end
