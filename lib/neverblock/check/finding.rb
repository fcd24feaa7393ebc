# frozen_string_literal: true

# One result of `neverblock check`.

module NeverBlock
  module Check
    # Worst first. serious: requests go wrong, get each other's data or are aborted; only these
    # cause exit status 1. warning: something blocks all requests for a while, or works less well
    # than it could. note: good to know.
    LEVELS = %i[serious warning note].freeze

    GUIDE = "docs/guides/check.md"

    # level: of LEVELS. rule: its name, for tools, and the anchor of its paragraph in GUIDE. seen:
    # what was found. mend: how to fix it; nil: nothing is to be done. guide: the page that explains
    # it.
    Finding = Struct.new(:level, :rule, :seen, :mend, :guide, keyword_init: true) do
      # @param level [Symbol]
      # @param rule [String]
      # @param seen [String]
      # @param mend [String, nil]
      # @param guide [String] default: the rule's paragraph in GUIDE
      # @return [Finding]
      def self.of(level, rule, seen, mend = nil, guide: "#{GUIDE}##{rule}")
        raise ArgumentError, "no level #{level.inspect}" unless LEVELS.include?(level)

        new(level: level, rule: rule, seen: seen, mend: mend, guide: guide)
      end

      # @param found [Hash{String => String}] result of #to_h, through JSON
      # @return [Finding]
      def self.read(found)
        of(found.fetch("level").to_sym, found.fetch("rule"), found.fetch("seen"), found["mend"],
           guide: found.fetch("guide"))
      end

      def serious?
        level == :serious
      end
    end
  end
end
