# frozen_string_literal: true

# The paths of a route as patterns (core/intake/path_pattern.h). A route has one for each
# combination of its optional parts. They are made of Rails' syntax tree of the path (Journey).

require "neverblock/server/lane_rules"

module NeverBlock
  class RoutePaths
    PART = LaneRules::PART
    REST = LaneRules::REST
    # Most patterns of one route. With more, the route is not exact.
    WAYS_MAX = 64
    # A requirement that is a list of words, such as /en|de/.
    WORDS = /\A[\w-]+(\|[\w-]+)*\z/
    # Rails' requirements of a glob and of a segment without one of their own.
    ANYTHING = [/.+?/m, /.+/].freeze

    class << self
      # @return [Boolean] whether a path may match both patterns; true also where that is uncertain
      def meet?(one, two)
        return rest_meets?(one, two) if one.include?(REST) || two.include?(REST)

        ones = one.split("/", -1)
        twos = two.split("/", -1)
        ones.size == twos.size && ones.zip(twos).all? { |pair| segments_meet?(*pair) }
      end

      private

      # Compares the segments before the first glob.
      def rest_meets?(one, two)
        heads = [one, two].map { |pattern| segments_before_rest(pattern) }
        sizes = heads.map(&:size)
        return false if !one.include?(REST) && sizes[0] < sizes[1]
        return false if !two.include?(REST) && sizes[1] < sizes[0]

        heads[0].zip(heads[1]).take(sizes.min).all? { |pair| segments_meet?(*pair) }
      end

      def segments_before_rest(pattern)
        segments = pattern[/\A[^#{REST}]*/o].split("/", -1)
        pattern.include?(REST) ? segments[0..-2] : segments
      end

      def segments_meet?(one, two)
        return true if one == two || (one.include?(PART) && two.include?(PART))
        return false unless one.include?(PART) || two.include?(PART)

        pattern, text = one.include?(PART) ? [one, two] : [two, one]
        fixed = pattern.split(PART, -1).map { |part| Regexp.escape(part) }
        text.match?(/\A#{fixed.join("[^./]+")}\z/)
      end
    end

    # @param route [ActionDispatch::Journey::Route]
    # @param prefixes [Array<String>] the paths that it is mounted at
    def initialize(route, prefixes)
      @requirements = route.path.requirements
      @spec = route.path.spec
      @prefixes = prefixes
      @exact = true
      @parts = []
      @ways = ways(@spec, {})
      @exact = false if @ways.size * prefixes.size > WAYS_MAX
    end

    # @return [Boolean] whether the patterns match exactly the route's paths
    def exact?
      @exact
    end

    # @param name [String]
    # @return [Boolean] whether its path has this part
    def part?(name)
      @parts.include?(name)
    end

    # @return [Array<String>] of the route
    def patterns
      whole(@ways)
    end

    # @param name [String] of a part
    # @param word [String] its value
    # @return [Array<String>] of the route where the part has that value
    def with(name, word)
      whole(ways(@spec, { name => word }))
    end

    # @return [Array<String>] of the route and of everything below it
    def patterns_below
      patterns.flat_map { |pattern| [pattern, "#{pattern.delete_suffix("/")}/#{REST}"] }
    end

    private

    def whole(ways)
      paths = @prefixes.product(ways).map do |prefix, way|
        path = prefix == "" ? way : "#{prefix.delete_suffix("/")}#{way.delete_suffix("/")}"
        path.empty? ? "/" : path
      end
      paths.uniq.first(WAYS_MAX)
    end

    # @param known [Hash{String => String}] values of parts
    # @return [Array<String>] the paths of a node of the tree
    def ways(node, known)
      case node.type
      when :CAT then joined(ways(node.left, known), ways(node.right, known))
      when :GROUP then [*ways(node.left, known), ""]
      when :OR then node.children.flat_map { |child| ways(child, known) }
      when :STAR then glob(node)
      when :SYMBOL then part(node, known)
      else [sent(node.left)]
      end
    end

    def joined(lefts, rights)
      lefts.product(rights).first(WAYS_MAX + 1).map(&:join)
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
      return requirement.source.split("|") if words?(requirement)

      @exact = false
      [PART]
    end

    def words?(requirement)
      requirement.is_a?(Regexp) && requirement.options.zero? && requirement.source.match?(WORDS)
    end

    # In the form in which clients send it: percent-encoded (RFC 3986, section 2.1).
    def sent(text)
      text.to_s.b.gsub(/[^!-~]/n) { |byte| format("%%%02X", byte.ord) }
          .force_encoding(Encoding::US_ASCII)
    end
  end
end
