# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock/cluster/processes"

class ClusterProcessesTest < Minitest::Test
  # Only what it is told of: other tests may have children.
  def setup
    @processes = NeverBlock::Cluster::Processes.new(alone: false)
  end

  def test_a_child_that_has_ended_is_reaped_with_its_status
    pid = fork { exit!(3) }
    assert_equal({ pid => { code: 3, signal: nil } }, await { @processes.reap([pid]) })
    assert_empty @processes.reap([pid])
  end

  def test_a_child_that_was_killed_is_too
    pid = fork { sleep }
    assert @processes.alive?(pid)
    @processes.kill(pid)
    assert_equal({ pid => { code: nil, signal: 9 } }, await { @processes.reap([pid]) })
    refute @processes.alive?(pid)
    @processes.kill(pid)
    @processes.kill(nil)
  end

  def test_how_a_child_has_ended_is_known_before_it_is_reaped
    ends = {
      -> { exit!(7) } => { code: 7, signal: nil },
      -> { Process.kill(:KILL, Process.pid) } => { code: nil, signal: 9 }
    }
    ends.each do |ending, status|
      pid = fork(&ending)
      assert_equal(status, await { @processes.remains(pid) || {} })
      Process.wait(pid)
      assert_nil @processes.remains(pid)
    end
    assert_nil @processes.remains(Process.pid)
  end

  def test_other_children_are_left_to_who_made_them
    pid = fork { exit!(0) }
    assert_empty @processes.reap([])
    assert_equal pid, Process.wait(pid)
  end

  def test_memory_is_told_in_bytes_while_the_process_lives
    assert_operator @processes.resident_bytes(Process.pid), :>, 1 << 20
    assert_nil @processes.resident_bytes(2**30)
  end

  private

  def await
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    while (found = yield).empty?
      if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
        flunk "nothing within #{Patience::SECONDS} s"
      end
      Thread.pass
    end
    found
  end
end
