# frozen_string_literal: true

require "test_helper"
require "gems/support/document"

class GemsDocumentTest < Minitest::Test
  def test_a_gem_that_differs_on_one_ruby_is_shown_there_with_what_was_seen
    text = Gems::Document.new([report("3.1.2", "same"), report("3.3.8", "differs", "detail" => "line 1:\n other")]).text

    assert_includes text, "| some | 1.0 | as on threads | differs | a word |"
    assert_includes text, "- **some** (3.3): line 1: other"
  end

  def test_a_gem_that_could_not_be_run_is_not_said_to_be_the_same
    assert_includes Gems::Document.new([report("3.1.2", "skipped", "detail" => "memcached is not installed")]).text, "| some | 1.0 | - | a word |"
  end

  def test_without_results_nothing_is_said
    assert_empty Gems::Document.new([]).text
  end

  private

  def report(ruby, verdict, more = {})
    { "ruby" => ruby, "date" => "2026-11-27", "gems" => { "some" => { "version" => "1.0", "verdict" => verdict, "detail" => "", "note" => "a word" }.merge(more) } }
  end
end
