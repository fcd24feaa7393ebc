# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/boot/advice"

class BootAdviceTest < Minitest::Test
  Advice = NeverBlock::Boot::Advice
  TEXTS = ["take YJIT", nil, "a newer Ruby"].freeze

  def setup
    @folder = Dir.mktmpdir
    @env = { "XDG_STATE_HOME" => @folder }
    @now = Time.now
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def test_the_first_is_said_and_how_many_there_are
    assert_equal "advice: take YJIT; `neverblock check` has 1 more " \
                 "(once a day; `log_advice false` ends it)", line
  end

  def test_it_is_said_once_a_day
    refute_nil line
    assert_nil line
    assert_nil line(now: @now + 86_399)
    refute_nil line(now: @now + 86_400)
    assert_nil line(now: @now + 86_401)
  end

  def test_without_any_or_unwanted_there_is_none_and_nothing_is_kept
    assert_nil Advice.line([nil], wanted: true, env: @env)
    assert_nil Advice.line(TEXTS, wanted: false, env: @env)
    assert_empty Dir.children(@folder)
  end

  def test_a_clock_that_was_set_back_does_not_silence_it
    refute_nil line(now: @now + 1_000_000)
    refute_nil line
  end

  def test_where_nothing_can_be_kept_each_start_says_it
    File.write(File.join(@folder, "neverblock"), "a file in the way")
    [{}, { "HOME" => nil }, { "XDG_STATE_HOME" => "relative" }, @env].each do |env|
      2.times { refute_nil Advice.line(TEXTS, wanted: true, env: env) }
    end
  end

  def test_the_home_folder_stands_in
    refute_nil Advice.line(TEXTS, wanted: true, env: { "HOME" => @folder })
    assert_path_exists File.join(@folder, ".local/state/neverblock/advice")
  end

  private

  def line(now: @now) = Advice.line(TEXTS, wanted: true, env: @env, now: now)
end
