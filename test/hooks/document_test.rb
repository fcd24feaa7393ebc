# frozen_string_literal: true

# docs/HOOKS.md is made of the published results and of nothing else, and says what they say.

require "test_helper"
require "hooks/support/hook_table"
require "hooks/support/document"

class HookDocumentTest < Minitest::Test
  def run_of(ruby, *rows)
    { "ruby" => ruby, "platform" => "x86_64-linux", "kernel" => "6.1.0", "date" => "2026-01-02",
      "rows" => rows.map do |row|
        { "library" => "IO", "name" => "IO#read", "verdict" => "yields" }.merge(row)
      end }
  end

  def test_the_published_document_is_that_of_the_published_results
    assert_equal HookTable::Document.published.to_s, File.read(HookTable::Document::PATH),
                 "made by hand? bin/hooks --document writes it"
  end

  def test_the_published_results_are_of_three_rubies_and_of_every_row_there_is
    assert_empty HookTable::Document.published.objections
    published = Dir[File.join(HookTable::Document::FOLDER, "*.json")].to_h do |file|
      [File.basename(file, ".json"), JSON.parse(File.read(file))]
    end
    assert_equal %w[3.1 3.3 3.4], published.keys.sort
    published.each_value do |run|
      names = run["rows"].map { |row| row.values_at("library", "name", "variant") }
      rows = HookTable.load.map { |row| [row.library, row.name, row.variant] }
      assert_empty rows - names, "rows that are not in the results of #{run["ruby"]}: bin/hooks"
    end
  end

  def test_a_row_says_what_was_found_on_each_ruby_and_why
    text = HookTable::Document.new(
      [run_of("3.1.2", { "verdict" => "blocks", "note" => "slow: Bug #12", "locked" => true }),
       run_of("3.3.8", { "note" => "io_select" }),
       run_of("3.10.0", { "verdict" => "absent", "note" => "until 3.10" })]
    ).to_s
    assert_includes text, "| `IO#read` | **blocks** ᴳ | yields ᶜ | – " \
                          "| ᶜ `io_select.rb`; [why 1](#why-it-blocks); until 3.10 |"
    assert_includes text, "1. slow: [Bug #12](https://bugs.ruby-lang.org/issues/12)"
    assert_includes text, "| lets the others run | 0 | 1 | 0 |"
  end

  def test_what_failed_was_not_played_or_is_missing_is_not_published
    document = HookTable::Document.new(
      [run_of("3.1.2", { "verdict" => "failed", "note" => "lost" },
              { "variant" => "again", "verdict" => "unavailable" }),
       run_of("3.3.8", {})]
    )
    assert_equal 3, document.objections.size
    assert_match(/IO#read on 3.1.2: failed: lost/, document.objections.first)
  end
end
