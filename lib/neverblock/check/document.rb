# frozen_string_literal: true

# The table of gems of docs/guides/check.md, made from GemTable. A test fails when the guide has another; `ruby -Ilib -rneverblock/check/document -e
# NeverBlock::Check::Document::GUIDE_TABLE.write` brings it up to date.

require "neverblock/check/gem_table"
require "neverblock/guide_table"

module NeverBlock
  module Check
    module Document
      module_function

      # @return [String] Markdown
      def table
        rows = GemTable::ROWS.map { |row| GuideTable.line([row.name, versions(row), GemTable::KINDS.fetch(row.kind), row.seen, row.mend]) }
        "| gem | versions | | what it does | mend |\n|---|---|---|---|---|\n#{rows.join}"
      end

      def versions(row)
        row.versions.none? || row.versions.to_s == ">= 0" ? "all" : row.versions.to_s
      end

      private_class_method :versions

      GUIDE_TABLE = GuideTable.new(GUIDE, "lib/neverblock/check/gem_table.rb") { table }
    end
  end
end
