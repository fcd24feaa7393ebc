# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config/directory"

class ConfigDirectoryTest < Minitest::Test
  def test_a_folder_that_cannot_be_entered_is_told_whatever_bytes_its_name_has
    { "/no/such" => '"/no/such"', "/no\xFF" => '"/no\\xFF"' }.each do |name, shown|
      error = assert_raises(NeverBlock::ConfigError) { NeverBlock::Config::Directory.enter(name) }
      assert_equal "cannot change to directory #{shown}: no such file or directory; it must be " \
                   "the application's folder, or a link to it", error.message
    end
  end
end
