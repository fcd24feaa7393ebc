# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cli/commands"

class OptionsTest < Minitest::Test
  def parse(*words, env: {})
    NeverBlock::CLI::Options.parse(words, env)
  end

  def test_nothing_given_is_the_interface_default
    options = parse
    assert_equal ["http://127.0.0.1:9292"], options.config.binds.map(&:url)
    assert_equal 1024, options.config.fibers
    assert_nil options.rackup
    assert_equal :serve, options.action
    assert options.settings[:yjit]
  end

  # Words => URLs.
  BINDS = {
    %w[-b http://127.0.0.1:1] => %w[http://127.0.0.1:1],
    %w[--bind=http://127.0.0.1:1] => %w[http://127.0.0.1:1],
    %w[-b http://127.0.0.1:1 --bind http://[::1]:2 -b unix:///run/x.sock?mode=0660] =>
      %w[http://127.0.0.1:1 http://[::1]:2 unix:///run/x.sock],
    %w[-p 3000] => %w[http://127.0.0.1:3000],
    %w[-p3000] => %w[http://127.0.0.1:3000],
    %w[--port 0] => %w[http://127.0.0.1:0],
    %w[-o 0.0.0.0] => %w[http://0.0.0.0:9292],
    %w[--host ::1 --port=80] => %w[http://[::1]:80]
  }.freeze

  BINDS.each do |words, urls|
    define_method("test_#{words.join(" ")} listens on #{urls.join(" and ")}") do
      assert_equal urls, parse(*words).config.binds.map(&:url)
    end
  end

  def test_a_bind_on_the_command_line_goes_before_the_environment
    env = { "PORT" => "5000" }
    assert_equal ["http://127.0.0.1:1"],
                 parse("-b", "http://127.0.0.1:1", env: env).config.binds.map(&:url)
    assert_equal ["http://0.0.0.0:5000"], parse(env: env).config.binds.map(&:url)
  end

  def test_options_may_stand_on_both_sides_of_the_rackup_file
    options = parse("-f", "7", "app.ru", "-e", "production")
    assert_equal ["app.ru", 7], [options.rackup, options.config.fibers]
    assert_equal "production", options.settings[:environment]
  end

  def test_what_changes_nothing_yet_is_taken
    assert_equal 1024, parse("-w", "1", "--scheduler", "native", "--cooperative").config.fibers
  end

  def test_yjit_can_be_left_off
    refute parse("--no-yjit").settings[:yjit]
    refute parse(env: { "RUBY_YJIT_ENABLE" => "0" }).settings[:yjit]
    assert parse("--yjit", env: { "RUBY_YJIT_ENABLE" => "0" }).settings[:yjit]
  end
end
