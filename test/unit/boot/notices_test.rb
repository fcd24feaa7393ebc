# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/boot/notices"
require "neverblock/config"

class NoticesTest < Minitest::Test
  Notices = NeverBlock::Boot::Notices

  # RubyVM::YJIT of 3.1 and 3.2; with `enable`, of 3.3 and later.
  class OldYJIT
    def enabled?
      @enabled
    end
  end

  class YJIT < OldYJIT
    def enable
      @enabled = true
    end
  end

  def test_an_environment_that_is_nearly_a_usual_one_is_told
    notices = NeverBlock::Boot::Notices
    assert_equal "the environment is \"prod\"; did you mean production?",
                 notices.near_environment("prod")
    %w[production development test staging qa].each do |name|
      assert_nil notices.near_environment(name)
    end
    Dir.mktmpdir do |folder|
      FileUtils.mkdir_p(File.join(folder, "config/environments"))
      FileUtils.touch(File.join(folder, "config/environments/prod.rb"))
      assert_nil notices.near_environment("prod", folder)
    end
  end

  def test_the_banner_says_what_runs
    banner = Notices.banner(NeverBlock::Config.new(fibers: 1), "production")
    ruby = "ruby #{Regexp.escape(RUBY_VERSION)}( with YJIT)?"
    assert_match(
      /\Aversion \S+, #{ruby}, process #{Process.pid}, production, 1 fiber\z/, banner
    )
  end

  def test_an_older_ruby_is_named_with_what_is_weaker_there
    assert_match(
      /\ARuby 3\.1\.2 has weaknesses: .*loaded while serving.* 3\.3\.1 or newer is advised\z/,
      Notices.weaker_ruby("3.1.2")
    )
    assert_match(/\ARuby 3\.2\.0 has weaknesses/, Notices.weaker_ruby("3.2.0"))
    assert_match(
      /\ARuby 3\.3\.0 has weaknesses: code that computes is preempted late or never/,
      Notices.weaker_ruby("3.3.0")
    )
    assert_nil Notices.weaker_ruby("3.3.1")
    assert_nil Notices.weaker_ruby("4.0.1")
  end

  def test_yjit_is_switched_on_where_ruby_can
    yjit = YJIT.new
    assert_nil Notices.enable_yjit(true, yjit: yjit)
    assert_predicate yjit, :enabled?
  end

  def test_the_advice_about_a_ruby_is_short
    assert_equal "Ruby 3.3.1 or newer mends faults of 3.1.2", Notices.newer_ruby("3.1.2")
    assert_nil Notices.newer_ruby("3.4.1")
  end

  def test_yjit_is_left_off_when_not_wanted
    yjit = YJIT.new
    assert_nil Notices.enable_yjit(false, yjit: yjit)
    refute_predicate yjit, :enabled?
  end

  def test_a_ruby_that_cannot_switch_it_on_says_how_to
    assert_includes Notices.enable_yjit(true, yjit: OldYJIT.new), Notices.yjit_options
    assert_nil Notices.enable_yjit(true, yjit: nil)
  end

  # Each is one that a Ruby of that version starts with.
  def test_only_ruby_3_1_needs_to_be_told_how_much_memory
    assert_equal ['RUBYOPT="--yjit --yjit-exec-mem-size=64"', "RUBYOPT=--yjit"],
                 %w[3.1.2 3.2.0].map { |version| Notices.yjit_options(version) }
  end
end
