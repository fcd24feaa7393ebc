# frozen_string_literal: true

require_relative "../../support/fake_cluster"
require "neverblock/downloads/report"

# Reports of downloads on their way to workers.
class ClusterReportingTest < Minitest::Test
  AHEAD = NeverBlock::Cluster::Supervisor::AHEAD_MAX

  def setup
    @cluster = FakeCluster.new
    @counts = counts = Hash.new(0)
    @cluster.engine.define_singleton_method(:count_reports) do |fate, number|
      counts[fate] += number
    end
  end

  def reports(count)
    Array.new(count) do |number|
      NeverBlock::Downloads::Report.new("d#{number}", "/a", 1, 1.0, :complete)
    end
  end

  def told(worker)
    worker.told.select { |message| message[:do] == "download" }.map { |message| message[:report] }
  end

  def test_they_are_shared_out_among_those_that_serve
    first, second = @cluster.serving
    @cluster.post(:downloads_ended, reports(5))
    shares = [told(first), told(second)]
    assert_equal [3, 2], shares.map(&:size)
    assert_equal ["d0", "/a", 1, 1.0, "complete"], shares.first.first
  end

  def test_one_is_given_no_more_than_it_has_room_for_until_it_tells_that_they_are_done
    first, second = @cluster.serving
    @cluster.post(:downloads_ended, reports((2 * AHEAD) + 3))
    assert_equal [AHEAD, AHEAD], [told(first).size, told(second).size]
    first.says(event: "downloads", called: 1, failed: 1)
    assert_equal [2, 0], [told(first).size, told(second).size]
    assert_equal({ called: 1, failed: 1 }, @counts)
  end

  def test_they_wait_until_somebody_serves
    @cluster.post(:downloads_ended, reports(2))
    assert_equal(2, @cluster.serving.sum { |worker| told(worker).size })
  end

  def test_those_of_a_worker_that_has_ended_are_lost_and_said
    first, = @cluster.serving
    @cluster.post(:downloads_ended, reports(4))
    first.says(event: "downloads", called: 1)
    first.ends(signal: 9)
    assert_equal({ called: 1, lost: 1 }, @counts)
    assert_match(/1 download report is lost: the worker that had them has ended/, @cluster.log.text)
  end

  def test_what_does_not_fit_is_lost
    most = NeverBlock::Cluster::Supervisor::WAITING_MAX
    @cluster.post(:downloads_ended, reports(most + 7))
    assert_equal({ lost: 7 }, @counts)
  end

  def test_a_worker_that_tells_of_more_than_it_had_is_given_no_more_for_it
    first, = @cluster.serving
    first.says(event: "downloads", called: 1_000)
    @cluster.post(:downloads_ended, reports(3 * AHEAD))
    assert_equal AHEAD, told(first).size
  end
end
