# frozen_string_literal: true

require "minitest/autorun"
require_relative "support/alike"
require_relative "support/document"
require_relative "support/visitor"

# Tests that what differs is found, and what has to differ is not.
class AlikeTest < Minitest::Test
  Answered = Struct.new(:answers)
  PAGE = "<meta name=\"csrf-token\" content=\"%s\"> /issues/%d at 2026-11-28 12:00:%02d"

  def test_tokens_times_and_keys_that_stand_for_each_other_are_alike
    assert_empty differences({ body: format(PAGE, "a", 3_500_001, 1) },
                             { body: format(PAGE, "bb", 3_500_007, 59) })
  end

  def test_each_part_of_an_answer_that_differs_is_named
    [[{ status: 200 }, { status: 201 }],
     [{ body: "a\nb\n" }, { body: "a\nc\n" }],
     [{ headers: { "x-a" => ["1"] } }, { headers: { "x-a" => ["2"] } }],
     [{ headers: { "x-a" => [""] } }, { headers: {} }],
     [{ headers: { "etag" => ['W/"1"'] } }, { headers: { "etag" => ['"1"'] } }],
     [{ cookies: ["a=1; path=/"] }, { cookies: ["a=1; path=/; secure"] }],
     [{ cookies: ["a=1; path=/"] }, { cookies: ["a=; path=/"] }]].each do |one, other|
      part = one.keys.first
      assert_match(/\AGET \/: #{part}: /, differences(one, other).join, "#{one} and #{other}")
    end
  end

  def test_a_row_in_the_place_of_another_is_seen
    one = { body: "#1500001 #1500002 #1500001" }
    assert_empty differences(one, { body: "#1500008 #1500004 #1500008" })
    refute_empty differences(one, { body: "#1500008 #1500004 #1500004" })
    refute_empty differences(one, { body: "#1500008 #2500004 #1500008" })
  end

  def test_a_visit_that_went_another_way_is_seen_and_not_compared_further
    one = [answer(step: "GET /a"), answer(step: "GET /b", status: 404)]
    other = [answer(step: "GET /c"), answer(step: "GET /b")]
    found = alike.differences(Answered.new(one), Answered.new(other))
    assert_equal ["then Puma's visitor did GET /a, ours GET /c"], found
    assert_match(/the last one here/, alike.differences(Answered.new(one),
                                                        Answered.new(one.first(1))).join)
  end

  def test_a_part_of_a_file_has_to_be_that_of_the_whole
    whole = { range: "bytes=2-3", body: "abcdef" }
    part = { range: "bytes=2-3", status: 206, body: "cd",
             headers: { "content-range" => ["bytes 2-3/6"] } }
    assert_empty differences(whole, part)
    refute_empty differences(whole, part.merge(body: "ce"))
    refute_empty differences(whole, part.merge(headers: {}))
  end

  def test_streams_of_a_pdf_are_compared_as_text
    pdf = lambda do |text, level|
      "%PDF-1.7\nstream\n#{Zlib::Deflate.deflate(text, level)}\nendstream\n"
    end
    assert_empty differences({ body: pdf["a" * 99, 1] }, { body: pdf["a" * 99, 9] })
    refute_empty differences({ body: pdf["a" * 99, 1] }, { body: pdf["b" * 99, 1] })
  end

  def test_the_document_has_a_row_for_each_application
    counts = { "visitors" => 2, "pages" => 50, "answers" => 99 }
    report = { "name" => "Some", "version" => "1.0", "ruby" => "3.4.1", "date" => "2026-11-28",
               "runs" => "Rails", "visit" => "forms", "tests" => { "two workers" => counts } }
    assert_includes Applications::Document.new([report]).text,
                    "| Some | 1.0 | 3.4.1 (2026-11-28) | Rails | forms | two workers: 99 answers " \
                    "to 2 users, each 50 different pages and actions |"
    assert_empty Applications::Document.new([]).text
  end

  private

  def alike = @alike ||= Alike.new

  def differences(one, other)
    alike.differences(*[one, other].map { |more| Answered.new([answer(**more)]) })
  end

  def answer(**more)
    Visitor::Answer.new(step: "GET /", status: 200, headers: {}, cookies: [], body: "", **more)
                   .tap { |made| made.body = made.body.b }
  end
end
