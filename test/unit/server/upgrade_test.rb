# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "fileutils"
require "tmpdir"
require "neverblock/server/upgrade"

# Tests how a server that stops ends the new process that does not serve yet. The processes are
# real.
class UpgradeTest < Minitest::Test
  # A server that listens nowhere.
  NOWHERE = Struct.new(:copy_listeners, :keeps_paths?).new([].freeze, false)

  def setup
    @folder = Dir.mktmpdir
    @runs = File.join(@folder, "runs")
  end

  def teardown
    FileUtils.rm_r(@folder)
  end

  def test_a_process_that_has_not_begun_to_run_ends
    20.times do |n|
      new_process("sleep")
      sleep(n * 0.001)
      assert_ends
    end
  end

  def test_one_that_has_lost_the_first_signal_ends_by_the_next
    new_process(<<~RUBY)
      trap("TERM") { trap("TERM", "DEFAULT") }
      File.write(ARGV[0], "")
      sleep
    RUBY
    Patience.await("it runs") { File.exist?(@runs) }
    assert_ends
    assert_equal "TERM", Signal.signame(@ended.termsig)
  end

  def test_one_that_ignores_them_is_killed
    new_process(%(trap("TERM", "IGNORE"); File.write(ARGV[0], ""); sleep))
    Patience.await("it runs") { File.exist?(@runs) }
    assert_ends
    assert_equal "KILL", Signal.signame(@ended.termsig)
  end

  def test_none_starts_after_that
    upgrade = NeverBlock::Server::Upgrade.new(NOWHERE, ->(*) { flunk "it was started" })
    upgrade.give_up
    upgrade.wait_for_end
    error = assert_raises(NeverBlock::Error) { upgrade.call }
    assert_equal "no upgrade: this server stops", error.message
  end

  private

  # Is called like the command's; says when it runs by a file, and keeps its end of the pipe.
  def new_process(code)
    started = Thread::Queue.new
    start = lambda do |variables, descriptors|
      kept = descriptors.to_h { |fd| [fd, fd] }
      spawn(variables, RbConfig.ruby, "-e", code, @runs, **kept).tap { |pid| started << pid }
    end
    @upgrade = NeverBlock::Server::Upgrade.new(NOWHERE, start)
    @call = Thread.new do
      @upgrade.call { nil }
    rescue NeverBlock::Error => e
      @ended = $?
      e
    end
    started.pop
  end

  def assert_ends
    @upgrade.give_up
    @upgrade.wait_for_end
    error = @call.value
    assert_match(/\Aprocess #{@ended.pid} ended before it served; nothing/, error.message)
  end
end
