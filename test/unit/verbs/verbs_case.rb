# frozen_string_literal: true

# The common part of the verbs' tests. A test's block runs on a thread of its own, within a bound,
# so that a loop that never ends fails with its stack. The gate of the scheduler's harness shows
# what overlaps without a clock.

require "test_helper"
require "neverblock"
require_relative "../../support/scheduler_harness"

class VerbsCase < Minitest::Test
  SECONDS = Patience::SECONDS

  Gate = SchedulerHarness::Gate

  class Failure < StandardError; end

  # @return what the block returns
  # @raise what the block raises
  def bounded(seconds = SECONDS, &block)
    thread = Thread.new do
      Thread.current.report_on_exception = false
      block.call
    end
    return thread.value if thread.join(seconds)

    where = thread.backtrace&.first(12)&.join("\n    ")
    thread.kill
    flunk "not over after #{seconds} s; its thread was at\n    #{where}"
  end

  # NB.run, bounded.
  def run_loop(seconds = SECONDS, &block)
    bounded(seconds) { NB.run(&block) }
  end

  # Runs `ruby -e script` with the gem on its path, within a bound.
  # @return [Array] exit status, standard output, standard error
  def ruby(script, *arguments)
    require "open3"
    require "timeout"
    lib = File.expand_path("../../../lib", __dir__)
    out, err, status = Timeout.timeout(SECONDS) do
      Open3.capture3(RbConfig.ruby, "-I#{lib}", "-e", script, *arguments)
    end
    [status.exitstatus, out, err]
  end
end
