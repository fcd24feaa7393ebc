# frozen_string_literal: true

# The application's rules for lanes (such as allowblock of Rails), passed to the part that chooses
# lanes: the I/O loop of this process, or of the front. Rules are set when the application is
# loaded, and again when its code is reloaded.

module NeverBlock
  module LaneRules
    # Bytes that stand for the variable parts of a path (core/intake/path_pattern.h).
    PART = "\x01"
    REST = "\x02"
    # The engine's bounds (core/dispatch/lane_rules.h): number of rules, bytes of all patterns.
    MAX = 1_024
    TEXT_BYTES_MAX = 65_535
    # Most routes named in one log line.
    NAMED_MAX = 20

    # methods: names, or ["ALL"]. pattern: an absolute path with PART and REST. held: true for the
    # lane of requests that must not be interrupted; false for fibers, whatever later rules are.
    # what: the route, for log lines.
    Rule = Struct.new(:methods, :pattern, :held, :what)

    @rules = [].freeze
    @followers = []
    @lock = Mutex.new

    class << self
      # @return [Array<Rule>]
      attr_reader :rules

      # @param rules [Array<Rule>] replace the earlier ones
      # @return [void]
      def rules=(rules)
        return if rules == @rules

        @rules = rules.dup.freeze
        @lock.synchronize { @followers.dup }.each { |follower| follower.call(@rules) }
      end

      # @param follower [#call] called with the current rules, also [], and with later ones, on any
      #   thread
      # @return [#call] the argument for #unfollow
      def follow(follower)
        @lock.synchronize { @followers << follower }
        follower.call(@rules)
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
      # @return [String, nil] a log line; nil: no rule is for a lane
      def log_line(rules)
        routes = rules.select(&:held).map(&:what).uniq
        return if routes.empty?

        more = routes.size - NAMED_MAX
        shown = routes.first(NAMED_MAX).join(", ")
        shown = "#{shown} and #{more} more" if more.positive?
        "allowblock: run on a thread of their own, one at a time in each process: #{shown}"
      end
    end
  end
end
