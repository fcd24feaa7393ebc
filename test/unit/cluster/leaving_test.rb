# frozen_string_literal: true

require_relative "../../support/fake_cluster"

# How long at_exit blocks of a worker may take, as the front sees it.
class ClusterLeavingTest < Minitest::Test
  ExitTime = NeverBlock::Cluster::ExitTime

  def test_at_a_stop_they_have_what_is_left_of_the_shutdown_timeout
    cluster = FakeCluster.new("timeouts.shutdown": 20)
    worker = cluster.serving.last
    cluster.post(:drain)
    assert_equal [[20.0, "shutdown"]], told(worker, 1_000.0)
    cluster.pass(12)
    assert_nil cluster.supervisor.exit_left
    worker.says(event: "ending")
    assert_in_delta 8 + ExitTime::MARGIN_S, cluster.supervisor.exit_left
    cluster.pass(10)
    assert_empty cluster.processes.killed
    cluster.pass(1)
    assert_equal [worker.pid], cluster.processes.killed
    assert_match(/had 8 s: timeouts \{ shutdown \} is their limit: raise it/, cluster.log.text)
  end

  def test_they_have_some_seconds_though_the_time_is_over
    cluster = FakeCluster.new("timeouts.shutdown": 3)
    worker = cluster.serving.last
    cluster.post(:drain)
    cluster.pass(4)
    worker.says(event: "ending")
    assert_in_delta ExitTime::LEAST_S + ExitTime::MARGIN_S, cluster.supervisor.exit_left
    cluster.pass(7)
    assert_empty cluster.processes.killed
    cluster.pass(1)
    assert_equal [worker.pid], cluster.processes.killed
  end

  def test_a_replaced_worker_has_what_is_left_of_its_own_time_and_no_request_is_ended
    cluster = FakeCluster.new("timeouts.retire": 20)
    worker = cluster.serving.last
    cluster.post(:remove_worker)
    assert_equal [[20.0, "retire"]], told(worker, 1_000.0)
    cluster.pass(18)
    worker.says(event: "ending")
    cluster.pass(6)
    assert_empty cluster.processes.killed
    assert_equal %i[serve retire], worker.channel.calls
    cluster.pass(2)
    assert_equal [worker.pid], cluster.processes.killed.uniq
  end

  def test_a_stop_bounds_those_of_a_replaced_worker
    cluster = FakeCluster.new("timeouts.retire": 600, "timeouts.shutdown": 6)
    worker = cluster.serving.last
    cluster.post(:remove_worker)
    worker.says(event: "ending")
    cluster.pass(20)
    cluster.post(:drain)
    cluster.pass(8)
    assert_empty cluster.processes.killed
    cluster.pass(1)
    assert_equal [worker.pid], cluster.processes.killed
  end

  # No one has told it to leave.
  def test_one_whose_executor_has_failed_has_the_time_of_a_replaced_one
    cluster = FakeCluster.new("timeouts.retire": 10)
    worker = cluster.serving.last
    worker.says(event: "ending")
    cluster.pass(12)
    assert_empty cluster.processes.killed
    cluster.pass(1)
    assert_equal [worker.pid], cluster.processes.killed
  end

  private

  # @return [Array] seconds from that time, and name of the setting, of each such command
  def told(worker, since)
    commands = worker.told.select { |message| message[:do] == "leave" }
    commands.map { |message| [message[:until] - since, message[:limit]] }
  end
end
