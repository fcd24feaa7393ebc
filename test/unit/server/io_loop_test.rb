# frozen_string_literal: true

require_relative "../../support/fake_native"
require "neverblock/server"

# The threads of lanes: as many as the routes say where that many fit, with as many again in a
# reload.
class IoLoopTest < Minitest::Test
  def test_a_lane_has_the_threads_of_its_route_where_all_fit
    assert_equal 64, threads(workers: 4, at_once: 64)
    assert_equal 4, @loop.processes_max
    assert_equal 4, threads(workers: 64)
    assert_empty @log.text
  end

  def test_more_than_fit_are_shared_out_among_the_workers_and_the_log_says_so
    assert_equal 51, threads(workers: 5, at_once: 64)
    assert_equal 5, @loop.processes_max
    assert_includes @log.text, 'warning: route "/lane/*" at_once: a lane has at most 256 threads ' \
                               "in all 5 workers; each has 51 of them, and not 64\n"
    assert_equal 2, threads(workers: 128)
  end

  def test_of_a_lane_of_its_own_there_are_fewer_from_65_workers_on
    { 64 => 4, 65 => 3, 128 => 2 }.each do |workers, count|
      serve(workers)
      assert_equal [1, count], @loop.lanes.tally.values
      assert_operator @loop.processes_max, :>=, workers
    end
  end

  private

  # @return [Integer] threads of the route's lane in each of so many processes
  def threads(workers:, **words)
    serve(workers, routes: [["/lane/*", { lane: :thread, **words }]])
    @loop.lanes.count(1)
  end

  def serve(workers, **settings)
    config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], **settings)
    @log = FakeNative::Log.new
    native = FakeNative.new.to_module
    @loop = NeverBlock::Server::IoLoop.new(config, @log, native: native, processes: workers)
  end
end
