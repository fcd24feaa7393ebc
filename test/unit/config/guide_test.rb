# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/guide_tables"
require "neverblock/config/user_file"
require "tmpdir"

class GuideTest < Minitest::Test
  Settings = GuideTables::Settings

  def test_the_guide_has_todays_tables
    text = File.read(Settings::GUIDE_TABLE.path)
    assert_equal Settings::GUIDE_TABLE.renew(text), text,
                 "ruby -Ilib test/support/guide_tables.rb renews it"
  end

  def test_a_guide_with_other_tables_or_without_their_place_is_found
    stale = File.read(Settings::GUIDE_TABLE.path).sub("1_024", "1_025")
    refute_equal stale, Settings::GUIDE_TABLE.renew(stale)
    assert_raises(ArgumentError) { Settings::GUIDE_TABLE.renew("nothing") }
  end

  def test_every_setting_has_a_row
    heads = Settings.tables.scan("|---|").empty? ? 0 : Settings.tables.lines.grep(/\A\|---/).size
    rows = Settings.tables.lines.grep(/\A\| /).size - heads
    words = NeverBlock::Config::Route::WORDS
    assert_equal NeverBlock::Config::Catalog::OPTIONS.size + words.size, rows
  end

  # The guide's examples of a file are files that work.
  examples = File.read(Settings::GUIDE_TABLE.path).scan(/```ruby\n(.*?)```/m).flatten
  examples.reject { |text| text.start_with?("gem ") }.each_with_index do |text, number|
    define_method("test_example #{number} of the guide is read") do
      Dir.mktmpdir do |directory|
        path = File.join(directory, "neverblock.rb")
        File.write(path, text)
        refute_empty NeverBlock::Config::UserFile.read(path)
      end
    end
  end
end
