# frozen_string_literal: true

# The tables of docs/guides/configuration.md, made from the catalog.

require "neverblock/config/catalog"
require_relative "guide_table"

module GuideTables
  module Settings
    OPTIONS = NeverBlock::Config::Catalog::OPTIONS
    WORDS = NeverBlock::Config::Route::WORDS

    module_function

    # @return [String] Markdown
    def tables
      working, later = OPTIONS.partition { |row| row.later.nil? }
      sections = working.group_by(&:section).map { |name, rows| "### #{name}\n\n#{table(rows)}" }
      later_words, words = WORDS.partition(&:later)
      "#{sections.join("\n")}\n### Words of a route\n\n#{words_table(words)}\n" \
        "### Known, and refused until they work\n\n#{later_table(later + later_words)}"
    end

    def table(rows)
      head = "| in the file | default | takes | command line | environment | what it is |\n" \
             "|---|---|---|---|---|---|\n"
      rows.inject(head) do |text, row|
        in_file = row.in_file ? code(name(row)) : ""
        environment = row.env.map { |name| code(name) }.join(", ")
        cells = [in_file, default(row), row.type, flags(row), environment, row.help]
        "#{text}#{GuideTable.line(cells)}"
      end
    end

    def words_table(words)
      words.inject("| word | takes | default | what it is |\n|---|---|---|---|\n") do |text, word|
        "#{text}#{GuideTable.line([code("#{word.name}:"), word.type, default(word), word.help])}"
      end
    end

    def later_table(rows)
      head = "| in the file | command line | default, once it works | what it is " \
             "| works already | meanwhile |\n" \
             "|---|---|---|---|---|---|\n"
      rows.inject(head) do |text, row|
        works = row.works.map { |value| code(value.inspect) }.join(", ")
        cells = [code(name(row)), flags(row), default(row), row.help, works, row.later]
        "#{text}#{GuideTable.line(cells)}"
      end
    end

    def name(row)
      return "route PATH, #{row.name}:" if WORDS.include?(row)

      row.in_place
    end

    def default(row)
      return "" if row.default.nil?

      value = row.default.is_a?(Integer) ? digits(row.default) : row.default.inspect
      "#{code(value)}#{" #{row.unit}" if row.unit}"
    end

    # 104_857_600, as the file may have it too.
    def digits(number)
      number.to_s.reverse.scan(/\d{1,3}/).join("_").reverse
    end

    def flags(row)
      row.flags.map { |flag| code(flag) }.join(", ")
    end

    def code(text)
      "`#{text}`"
    end

    private_class_method :table, :words_table, :later_table, :name, :default, :digits, :flags, :code

    GUIDE_TABLE = GuideTable.new(
      "docs/guides/configuration.md", "lib/neverblock/config/catalog.rb"
    ) { tables }
  end
end
