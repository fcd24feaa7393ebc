# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config/document"
require "neverblock/config/user_file"
require "tmpdir"

class DocumentTest < Minitest::Test
  Document = NeverBlock::Config::Document

  def test_the_guide_has_todays_tables
    text = File.read(Document::GUIDE_TABLE.path)
    assert_equal Document::GUIDE_TABLE.renew(text), text, "ruby -Ilib -rneverblock/config/document -e NeverBlock::Config::Document::GUIDE_TABLE.write renews it"
  end

  def test_a_guide_with_other_tables_or_without_their_place_is_found
    stale = File.read(Document::GUIDE_TABLE.path).sub("1_024", "1_025")
    refute_equal stale, Document::GUIDE_TABLE.renew(stale)
    assert_raises(ArgumentError) { Document::GUIDE_TABLE.renew("nothing") }
  end

  def test_every_setting_has_a_row
    rows = Document.tables.lines.grep(/\A\| /).size - (Document.tables.scan("|---|").empty? ? 0 : Document.tables.lines.grep(/\A\|---/).size)
    words = NeverBlock::Config::Route::WORDS
    assert_equal NeverBlock::Config::Catalog::OPTIONS.size + words.size, rows
  end

  # The guide's examples of a file are files that work.
  File.read(Document::GUIDE_TABLE.path).scan(/```ruby\n(.*?)```/m).flatten.reject { |text| text.start_with?("gem ") }.each_with_index do |text, number|
    define_method("test_example #{number} of the guide is read") do
      Dir.mktmpdir do |directory|
        path = File.join(directory, "neverblock.rb")
        File.write(path, text)
        refute_empty NeverBlock::Config::UserFile.read(path)
      end
    end
  end
end
