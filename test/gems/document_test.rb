# frozen_string_literal: true

require "test_helper"
require "gems/support/asked"
require "gems/support/document"
require "gems/support/results"
require "tmpdir"

class GemsDocumentTest < Minitest::Test
  def test_a_gem_that_differs_on_one_ruby_is_shown_there_with_what_was_seen
    text = Gems::Document.new([report("3.1.2", "same"),
                               report("3.3.8", "differs", "detail" => "line 1:\n other")]).text

    assert_includes text, "| some | 1.0 | as on threads | differs | a word |"
    assert_includes text, "- **some** (3.3): line 1: other"
  end

  def test_a_gem_that_could_not_be_run_is_not_said_to_be_the_same
    skipped = report("3.1.2", "skipped", "detail" => "memcached is not installed")
    assert_includes Gems::Document.new([skipped]).text, "| some | 1.0 | - | a word |"
  end

  def test_without_results_nothing_is_said
    assert_empty Gems::Document.new([]).text
  end

  Use = Struct.new(:name, :word)

  def test_gems_that_are_run_again_replace_what_the_whole_run_found_of_them
    Dir.mktmpdir do |folder|
      record(folder, %w[a b], "differs")
      record(folder, %w[b], "same")
      assert_equal %w[differs same], verdicts(folder)
    end
  end

  def test_a_run_of_some_gems_alone_writes_nothing
    Dir.mktmpdir do |folder|
      record(folder, %w[b], "same")
      assert_empty Dir.children(folder)
    end
  end

  private

  def record(folder, names, verdict)
    results = Gems::Results.new
    names.each { |name| results.record(Use.new(name), verdict, "") }
    results.write(folder, { "a" => nil, "b" => nil })
  end

  def verdicts(folder)
    JSON.parse(File.read(File.join(folder, Dir.children(folder).first)))["gems"].values.map do |gem|
      gem["verdict"]
    end
  end

  def report(ruby, verdict, more = {})
    { "ruby" => ruby, "date" => "2026-11-27",
      "gems" => { "some" => { "version" => "1.0", "verdict" => verdict, "detail" => "",
                              "note" => "a word" }.merge(more) } }
  end
end
