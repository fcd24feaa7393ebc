# frozen_string_literal: true

# The paths of a route as patterns (core/intake/path_pattern.h): one for each way its optional parts may be there or not. Read of the tree that Rails has made of its
# path (Journey).

require "neverblock/server/lane_rules"

module NeverBlock
  class RoutePaths
    PART = LaneRules::PART
    REST = LaneRules::REST
    # Ways of one route; more are not followed.
    WAYS_MAX = 64
    # A pattern for a part that is a list of words: /en|de/.
    WORDS = /\A[\w-]+(\|[\w-]+)*\z/
    # What Rails gives a glob, and a segment, that has no pattern.
    ANYTHING = [/.+?/m, /.+/].freeze

    class << self
      # @return [Boolean] whether some path may be of both patterns; true also where that is not certain
      def meet?(one, two)
        return rest_meets?(one, two) if one.include?(REST) || two.include?(REST)

        ones = one.split("/", -1)
        twos = two.split("/", -1)
        ones.size == twos.size && ones.zip(twos).all? { |pair| segments_meet?(*pair) }
      end

      private

      # What comes before the first place of a glob.
      def rest_meets?(one, two)
        ones, twos = [one, two].map { |pattern| [pattern[/\A[^#{REST}]*/o], pattern.include?(REST)] }
        heads = [ones, twos].map { |head, cut| cut ? head.split("/", -1)[0..-2] : head.split("/", -1) }
        return false if (!ones.last && heads[0].size < heads[1].size) || (!twos.last && heads[1].size < heads[0].size)

        heads[0].zip(heads[1]).take(heads.map(&:size).min).all? { |pair| segments_meet?(*pair) }
      end

      def segments_meet?(one, two)
        return true if one == two || (one.include?(PART) && two.include?(PART))
        return false unless one.include?(PART) || two.include?(PART)

        place, text = one.include?(PART) ? [one, two] : [two, one]
        text.match?(/\A#{place.split(PART, -1).map { |part| Regexp.escape(part) }.join("[^./]+")}\z/)
      end
    end

    # @param route [ActionDispatch::Journey::Route]
    # @param prefixes [Array<String>] what it is mounted at
    def initialize(route, prefixes)
      @requirements = route.path.requirements
      @spec = route.path.spec
      @prefixes = prefixes
      @exact = true
      @parts = []
      @ways = ways(@spec, {})
      @exact = false if @ways.size * prefixes.size > WAYS_MAX
    end

    # @return [Boolean] whether path and patterns say the same
    def exact?
      @exact
    end

    # @param name [String]
    # @return [Boolean] whether its path has such a part
    def part?(name)
      @parts.include?(name)
    end

    # @return [Array<String>]
    def patterns
      whole(@ways)
    end

    # @param name [String] of a part
    # @param word [String] that it is
    # @return [Array<String>]
    def with(name, word)
      whole(ways(@spec, { name => word }))
    end

    # @return [Array<String>] of all that is mounted there
    def patterns_below
      patterns.flat_map { |pattern| [pattern, "#{pattern.delete_suffix("/")}/#{REST}"] }
    end

    private

    def whole(ways)
      @prefixes.product(ways).map { |prefix, way| prefix == "" ? way : "#{prefix.delete_suffix("/")}#{way.delete_suffix("/")}" }.map { |path| path.empty? ? "/" : path }
               .uniq.first(WAYS_MAX)
    end

    def ways(node, known)
      case node.type
      when :CAT then ways(node.left, known).product(ways(node.right, known)).first(WAYS_MAX + 1).map(&:join)
      when :GROUP then [*ways(node.left, known), ""]
      when :OR then node.children.flat_map { |child| ways(child, known) }
      when :STAR then glob(node)
      when :SYMBOL then part(node, known)
      else [sent(node.left)]
      end
    end

    def glob(node)
      requirement = @requirements[node.name.to_sym]
      @exact = false if requirement && !ANYTHING.include?(requirement)
      [REST]
    end

    def part(node, known)
      @parts |= [node.name]
      return [known[node.name]] if known[node.name]

      requirement = @requirements[node.name.to_sym]
      return [PART] if requirement.nil? || %w[controller action].include?(node.name)
      return requirement.source.split("|") if requirement.is_a?(Regexp) && requirement.options.zero? && requirement.source.match?(WORDS)

      @exact = false
      [PART]
    end

    # As clients send it.
    def sent(text)
      text.to_s.b.gsub(/[^!-~]/n) { |byte| format("%%%02X", byte.ord) }.force_encoding(Encoding::US_ASCII)
    end
  end
end
