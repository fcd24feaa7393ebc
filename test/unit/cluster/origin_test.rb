# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cluster/origin"
require "tmpdir"

class ClusterOriginTest < Minitest::Test
  def test_the_folder_keeps_the_name_it_was_given_while_that_is_the_same_folder
    in_release do |current, here|
      other = File.join(File.dirname(current), "other")
      File.symlink("1", other)
      assert_equal other, origin(here, "PWD" => other).directory
      assert_equal other, origin(here, {}, "#{other}/config.ru").directory
    end
  end

  # Ruby tags names of files by where they come from.
  def test_a_folder_may_have_a_name_that_is_no_text
    in_release do |_, here|
      folder = File.join(here, "caf\xE9".b)
      link = File.join(here, "current \xE9".b)
      Dir.mkdir(folder)
      File.symlink(folder, link)
      encodings = [Encoding::UTF_8, Encoding::BINARY, Encoding::ISO_8859_1]
      encodings.product([folder, link]) do |encoding, name|
        here = folder.dup.force_encoding(encoding)
        made = origin(here, "PWD" => name, "BUNDLE_GEMFILE" => "#{here}/Gemfile")
        assert_equal name.dup.force_encoding(encoding), made.directory
        assert_equal "#{name}/Gemfile".b, made.variables(7)["BUNDLE_GEMFILE"].b
      end
    end
  end

  def test_the_root_folder_is_one_too
    ["/", "//"].each do |name|
      assert_equal "/", origin("/", { "PWD" => name }, "/config.ru").directory
    end
  end

  def test_without_a_name_of_its_own_it_has_that_of_the_link_beside_the_releases
    in_release do |current, here|
      ["/", "current", nil].each do |name|
        assert_equal current, origin(here, { "PWD" => name }.compact).directory
      end
      File.unlink(current)
      assert_equal here, origin(here, {}).directory
    end
  end

  def test_a_gemfile_of_the_setting_directory_is_named_by_that
    in_release do |current, here|
      elsewhere = origin("/", "BUNDLE_GEMFILE" => "#{here}/Gemfile")
      elsewhere.follow(current)
      assert_equal ["#{current}/Gemfile", "/"],
                   elsewhere.variables(7).values_at("BUNDLE_GEMFILE", "PWD")
    end
  end

  def test_a_gemfile_of_the_folder_is_named_by_that_name_too
    in_release do |current, here|
      variables = origin(here, "PWD" => current, "BUNDLE_GEMFILE" => "#{here}/Gemfile").variables(7)
      assert_equal ["#{current}/Gemfile", current], variables.values_at("BUNDLE_GEMFILE", "PWD")
      shared = "/srv/shared/Gemfile"
      variables = origin(here, "PWD" => current, "BUNDLE_GEMFILE" => shared).variables(7)
      assert_equal shared, variables["BUNDLE_GEMFILE"]
    end
  end

  def test_the_folder_of_the_application_is_that_of_the_setting_by_its_name
    in_release do |current, here|
      Dir.chdir(here) do
        assert_equal current, origin("/", {}).application(current)
        assert_equal current, origin(here, "PWD" => current).application(nil)
        assert_equal here, origin("/", {}).application("/"), "which is another folder"
      end
    end
  end

  def test_children_of_the_front_have_the_gemfile_by_that_name
    before = ENV.fetch("BUNDLE_GEMFILE", nil)
    in_release do |current, here|
      found = origin(here, "PWD" => current)
      ENV["BUNDLE_GEMFILE"] = "#{here}/Gemfile"
      assert_equal({ "BUNDLE_GEMFILE" => "#{current}/Gemfile" }, found.folder_variables)
      ENV.delete("BUNDLE_GEMFILE")
      assert_empty found.folder_variables
    end
  ensure
    ENV["BUNDLE_GEMFILE"] = before
  end

  def test_a_mold_is_told_its_descriptor_and_who_started_it
    assert_equal "7:#{NeverBlock::VERSION}", origin(Dir.pwd, {}).variables(7)["NEVERBLOCK_MOLD"]
  end

  # RUBYOPT => what is left of it.
  {
    "-rbundler/setup" => "",
    "-r/usr/lib/ruby/bundler/setup -W0" => " -W0",
    "-W0 -rbundler/setup --yjit" => "-W0 --yjit",
    "-r /a/bundler/setup" => ""
  }.each do |given, left|
    define_method("test_bundler_is_left_to_the_mold: #{given}") do
      variables = origin(Dir.pwd, "RUBYOPT" => given).variables(7)
      assert_equal [left, given], variables.values_at("RUBYOPT", "NEVERBLOCK_RUBYOPT")
    end
  end

  # RubyGems 3.5 and later.
  def test_the_variable_by_which_rubygems_sets_bundler_up_is_kept_for_the_mold_too
    variables = origin(Dir.pwd, "RUBYOPT" => "-W0", "BUNDLER_SETUP" => "/x/bundler/setup")
      .variables(7)
    assert_equal ["-W0", "-W0"], variables.values_at("RUBYOPT", "NEVERBLOCK_RUBYOPT")
    assert_equal ["/x/bundler/setup", nil],
                 variables.values_at("NEVERBLOCK_BUNDLER_SETUP", "BUNDLER_SETUP")
  end

  def test_other_options_of_ruby_stay
    ["-W0", "-r./mybundler/setup_it", nil].each do |given|
      variables = origin(Dir.pwd, { "RUBYOPT" => given }.compact).variables(7)
      given ? assert_equal(given, variables["RUBYOPT"]) : assert_nil(variables["RUBYOPT"])
      refute_includes variables.keys, "NEVERBLOCK_RUBYOPT"
    end
  end

  # Command line of the process => Ruby's own options in it.
  {
    %w[ruby -I lib --yjit /x/neverblock -w 2] => %w[-I lib --yjit],
    %w[ruby /x/neverblock -w 2] => [],
    %w[ruby /usr/bin/bundle exec neverblock -w 2] => [],
    %w[neverblock: front of /x] => [],
    nil => []
  }.each do |command, flags|
    define_method("test_ruby_is_given_its_options_again: #{command.inspect}") do
      found = NeverBlock::Cluster::Origin.new(
        words: %w[-w 2], environment: {}, here: "/x", command: command, program: "/x/neverblock"
      )
      assert_equal flags, found.instance_variable_get(:@flags)
    end
  end

  private

  def origin(here, environment, rackup = nil)
    NeverBlock::Cluster::Origin.new(
      rackup: rackup, words: [], environment: environment, here: here, command: nil
    )
  end

  def in_release
    Dir.mktmpdir do |directory|
      here = File.join(File.realpath(directory), "1")
      Dir.mkdir(here)
      current = File.join(directory, "current")
      File.symlink("1", current)
      yield current, here
    end
  end
end
