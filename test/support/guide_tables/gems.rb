# frozen_string_literal: true

# The table of gems of docs/guides/check.md, made from Check::GemTable.

require "neverblock/check/gem_table"
require_relative "guide_table"

module GuideTables
  module Gems
    module_function

    # @return [String] Markdown
    def table
      known = NeverBlock::Check::GemTable
      rows = known::ROWS.map do |row|
        kind = known::KINDS.fetch(row.kind)
        GuideTable.line([row.name, versions(row), kind, row.seen, row.mend])
      end
      "| gem | versions | | what it does | mend |\n|---|---|---|---|---|\n#{rows.join}"
    end

    def versions(row)
      row.versions.none? || row.versions.to_s == ">= 0" ? "all" : row.versions.to_s
    end

    private_class_method :versions

    GUIDE_TABLE = GuideTable.new(
      NeverBlock::Check::GUIDE, "lib/neverblock/check/gem_table.rb"
    ) { table }
  end
end
