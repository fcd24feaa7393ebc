# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/boot/hooks"
require "neverblock/config/settings"

class HooksTest < Minitest::Test
  Hooks = NeverBlock::Boot::Hooks

  def test_every_block_is_called_in_order_with_what_is_given
    called = []
    blocks = [proc { |number| called << number }, proc { called << :second }]
    Hooks.call(settings(after_fork: blocks), :after_fork, 3)
    Hooks.call(settings, :after_fork, 3)
    assert_equal [3, :second], called
  end

  def test_what_a_block_raises_names_hook_file_and_line
    error = assert_raises(NeverBlock::ApplicationError) do
      Hooks.call(settings(before_fork: [proc { raise "no database" }]), :before_fork)
    end
    place = "hooks_test.rb:#{__LINE__ - 2}"
    assert_match(/\Abefore_fork has failed: \S*#{place}: no database \(RuntimeError\)\z/,
                 error.message)
  end

  def test_an_exit_passes
    exits = settings(after_fork: [proc { exit 3 }])
    assert_equal 3, assert_raises(SystemExit) { Hooks.call(exits, :after_fork) }.status
  end

  def test_one_process_does_not_call_before_fork
    both = settings(before_fork: [proc {}], after_fork: [proc {}])
    assert_equal 1, Hooks.uncalled(both).size
    assert_match(/\Abefore_fork \(\S*hooks_test.rb:\d+\) is not called/, Hooks.uncalled(both)[0])
  end

  private

  def settings(**values)
    NeverBlock::Config::Settings.new(file: values)
  end
end
