# frozen_string_literal: true

require_relative "watch_case"

class WatchDocumentTest < WatchCase
  def test_what_is_there_is_found
    assert_equal 29, document.number("requests", "running")
    assert_equal "running", document.text("state")
    assert_equal ["http://127.0.0.1:9292", "unix:///run/app.sock"], document.texts("binds")
    assert_equal 0, document.parts("executors").first.number("id")
    assert_predicate document, :running?
    refute_predicate document(state: "draining"), :running?
  end

  def test_what_is_missing_or_of_another_type_is_nil
    odd = Document.new(
      {
        "pid" => "x", "requests" => 7, "executors" => { "id" => 0 }, "binds" => [1],
        "gc" => { "time_s" => nil }, "ruby" => 3.1
      }
    )
    [%w[pid], %w[requests total], %w[gc time_s], %w[no]].each do |names|
      assert_nil odd.number(*names), names.inspect
    end
    assert_nil odd.text("ruby")
    assert_equal [[], []], [odd.parts("executors"), odd.texts("binds")]
    refute odd.any?("requests")
    refute_predicate odd, :running?
  end

  def test_text_from_outside_has_no_control_characters_and_an_end
    assert_equal "a?[2Jb", Document.new({ "ruby" => "a\e[2Jb" }).text("ruby")
    assert_equal ["a?[2Jb"], Document.new({ "tls" => { "a\e[2Jb" => 1 } }).names("tls")
    assert_equal 200, Document.new({ "ruby" => "a" * 1_000 }).text("ruby").length
  end

  def test_what_is_no_json_object_is_no_document
    ["", "<html>", "[]", "7", "{\"a\":\xFF}", "{\"a\":NaN}"].each do |text|
      assert_raises(Unreachable, text) { Document.parse(text) }
    end
  end
end
