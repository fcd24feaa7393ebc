# frozen_string_literal: true

require_relative "../../support/unit"
require "fileutils"
require "neverblock/server/restart_file"
require "tmpdir"

class RestartFileTest < Minitest::Test
  RestartFile = NeverBlock::Server::RestartFile

  def in_folder(&block)
    Dir.mktmpdir(&block)
  end

  def test_a_rails_application_has_one_without_being_asked
    in_folder do |folder|
      assert_nil RestartFile.path(nil, folder)
      assert_equal "#{folder}/again", RestartFile.path("again", folder)
      FileUtils.mkdir(File.join(folder, "config"))
      FileUtils.touch(File.join(folder, "config/application.rb"))
      assert_equal "#{folder}/tmp/restart.txt", RestartFile.path(nil, folder)
    end
  end

  def test_a_touch_is_seen_once_and_what_was_there_before_is_none
    in_folder do |folder|
      path = File.join(folder, "restart.txt")
      file = RestartFile.new(path)
      refute_predicate file, :touched?
      FileUtils.touch(path)
      assert_equal [true, false], [file.touched?, file.touched?]
      File.utime(Time.now, Time.now + 5, path)
      assert_predicate file, :touched?
      File.delete(path)
      refute_predicate file, :touched?
      FileUtils.touch(path)
      refute_predicate RestartFile.new(path), :touched?
    end
  end
end
