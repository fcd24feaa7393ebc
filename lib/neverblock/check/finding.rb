# frozen_string_literal: true

# One thing that `neverblock check` has found.

module NeverBlock
  module Check
    # Worst first. Serious: requests go wrong, get each other's data or are cut; only these make the command end with 1. Warning: something stops all requests for
    # a while, or is less than it could be. Note: good to know.
    LEVELS = %i[serious warning note].freeze

    GUIDE = "docs/guides/check.md"

    # level: of LEVELS; rule: its name, for tools and as the anchor of its paragraph in GUIDE; seen: what was found; mend: what to do, nil where nothing is to be
    # done; guide: the page that says more.
    Finding = Struct.new(:level, :rule, :seen, :mend, :guide, keyword_init: true) do
      # @param level [Symbol]
      # @param rule [String]
      # @param seen [String]
      # @param mend [String, nil]
      # @param guide [String] default: the rule's paragraph of the guide
      # @return [Finding]
      def self.of(level, rule, seen, mend = nil, guide: "#{GUIDE}##{rule}")
        raise ArgumentError, "no level #{level.inspect}" unless LEVELS.include?(level)

        new(level: level, rule: rule, seen: seen, mend: mend, guide: guide)
      end

      # @param found [Hash{String => String}] of #to_h, through JSON
      # @return [Finding]
      def self.read(found)
        of(found.fetch("level").to_sym, found.fetch("rule"), found.fetch("seen"), found["mend"], guide: found.fetch("guide"))
      end

      def serious?
        level == :serious
      end
    end
  end
end
