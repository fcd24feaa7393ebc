# frozen_string_literal: true

require "test_helper"
require "clients/support/document"

class CompatibilityDocumentTest < Minitest::Test
  def test_docs_compatibility_is_what_the_results_of_runs_give_and_nothing_else
    assert Clients::Publisher.new.call(["--check"]),
           "docs/COMPATIBILITY.md was edited or is old: test/clients/publish writes it"
  end

  def test_a_library_whose_check_failed_on_one_ruby_is_shown_failed_there_with_what_was_found
    text = Clients::Document.new([report("3.1.2", "yields"),
                                  report("3.3.8", "failed", "detail" => "answers were mixed")]).text

    assert_includes text, "| some | 1.0 | 20 at once | yields | failed |  |"
    assert_includes text, "- **some** (3.3): 20 at once: failed: answers were mixed"
  end

  def test_a_check_that_has_to_block_is_shown_with_its_reason
    text = Clients::Document.new(
      [report("3.1.2", "blocks", "detail" => "0 turns", "expected" => "it waits in C")]
    ).text

    assert_includes text, "| some | 1.0 | 20 at once | blocks |  |"
    assert_includes text, "- **some** (3.1): 20 at once: blocks: it waits in C"
  end

  def test_a_library_that_could_not_be_run_is_not_said_to_yield
    text = Clients::Document.new(
      [report("3.1.2", "skipped", "detail" => "memcached is not installed")]
    ).text

    assert_includes text, "| some | 1.0 | 20 at once | - |  |"
    assert_includes text, "memcached is not installed"
  end

  private

  def report(ruby, verdict, more = {})
    check = { "sentence" => "20 at once", "verdict" => verdict }.merge(more)
    { "ruby" => ruby, "date" => "2026-11-21", "neverblock" => "2.0.0",
      "libraries" => { "some" => { "version" => "1.0", "notes" => [],
                                   "checks" => { "together" => check } } } }
  end
end
