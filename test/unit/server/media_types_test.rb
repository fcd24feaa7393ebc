# frozen_string_literal: true

require "minitest/autorun"
require "rack/mime"
require "neverblock"
require "neverblock/server/media_types"

class MediaTypesTest < Minitest::Test
  MediaTypes = NeverBlock::Server::MediaTypes

  # What Rack 3 has changed of the table of Rack 2.2 (the gems 2.2.25 and 3.2.8 compared).
  # nil means that Rack 2.2 has no such ending.
  RACK_2 = {
    ".apng" => nil, ".avif" => nil, ".flif" => nil, ".heic" => nil, ".heics" => nil,
    ".heif" => nil, ".heifs" => nil, ".mjs" => nil, ".webp" => nil,
    ".js" => "application/javascript",
    ".otf" => "application/vnd.oasis.opendocument.formula-template",
    ".ttf" => "application/octet-stream",
    ".woff" => "application/font-woff",
    ".woff2" => "application/font-woff2"
  }.freeze

  def test_rows_are_endings_and_types_in_order
    MediaTypes.table.each do |ending, type|
      assert_match(/\A\.[a-zA-Z0-9+_-]{1,20}\z/, ending)
      assert_match(%r{\A[a-z-]+/[A-Za-z0-9][A-Za-z0-9!\#$&^_.+-]{0,126}\z}, type, ending)
    end
    assert_equal MediaTypes::SINCE.keys.sort, MediaTypes::SINCE.keys
    assert_equal MediaTypes::SINCE.keys.map(&:downcase), MediaTypes::SINCE.keys
  end

  def test_what_applications_know_from_rack_is_there
    assert_empty Rack::Mime::MIME_TYPES.keys - MediaTypes.table.keys
    {
      ".zip" => "application/zip",
      ".mp4" => "video/mp4",
      ".csv" => "text/csv",
      ".docx" => Rack::Mime.mime_type(".docx")
    }.each do |ending, type|
      assert_equal type, MediaTypes.table[ending]
    end
  end

  def test_it_is_the_same_table_with_rack_two
    expected = MediaTypes.table
    older = Rack::Mime::MIME_TYPES.merge(RACK_2).compact
    rows = Rack::Mime::MIME_TYPES.dup
    Rack::Mime::MIME_TYPES.replace(older)

    assert_equal expected, MediaTypes.table
  ensure
    Rack::Mime::MIME_TYPES.replace(rows)
  end

  def test_a_row_that_the_application_gave_to_rack_counts
    Rack::Mime::MIME_TYPES[".nbtest"] = "application/x-nb-test"

    assert_equal "application/x-nb-test", MediaTypes.table[".nbtest"]
  ensure
    Rack::Mime::MIME_TYPES.delete(".nbtest")
  end

  def test_without_rack_there_are_those_that_pages_are_made_of
    %w[
      .html .css .js .mjs .json .map .png .jpg .svg .webp .avif .ico .woff2 .wasm .txt .pdf
      .webmanifest
    ].each do |ending|
      assert_includes MediaTypes::SINCE, ending
    end
  end
end
