# frozen_string_literal: true

require_relative "bench_case"

class BenchWorkTurnsMeasurementTest < BenchCase
  StandIn = Struct.new(:name, :alive) do
    alias_method :alive?, :alive

    def url = "http://#{name}"
    def admin_url = "http://#{name}-admin"
    def last_words = "killed"
  end

  # What starts the other server.
  StandInHost = Struct.new(:process, :started) do
    def run(server, app:, path:)
      self.started = [server, app, path]
      yield process
    end
  end

  # How long each server takes in its turns, the unmeasured one first.
  StandInWork = Struct.new(:name, :seconds, :asked) do
    def once(path, clients:)
      asked << [name, path, clients]
      seconds.fetch(name).shift
    end
  end

  # The first request of each run fails.
  class StandInLoad
    attr_reader :asked

    def initialize
      @asked = Queue.new
    end

    def run(jobs, url:, connections:)
      @asked << [url, connections, jobs.last.due]
      jobs.each_index.map { |place| NeverBlock::Bench::OpenLoop::Answer.new(0, 0, 100, place.zero? ? 503 : 200, 0) }
    end
  end

  LIGHT = Arrivals.new(rate: 100, path: "/")
  ASIDE = Aside.new(name: "health", arrivals: Arrivals.new(rate: 100, path: "/health", connections: 4), admin: true)
  HOGS = Company.new(light: LIGHT, beside: "/hog", clients: 4, asides: [ASIDE])

  def test_what_is_kept_is_the_work_of_a_second_over_the_others_and_the_first_turn_is_none
    figures = take(own: [9.0, 2.0, 2.5, 1.5], other: [8.0, 1.9, 2.4, 1.4])
    assert_equal [3, 6.0, 5.7, 0.95], figures.values_at("turns", "seconds", "other_seconds", "kept_share")
  end

  def test_who_was_last_is_first_next_and_each_client_asks_once
    take(own: [1.0] * 4, other: [1.0] * 4)
    assert_equal %w[own other own other other own own other], @asked.map(&:first)
    assert_equal [["/hog", 4]], @asked.map { |each| each.drop(1) }.uniq
  end

  def test_light_requests_and_asides_go_to_the_one_for_longer_than_the_work_takes_and_their_failures_count
    figures = take(own: [1.0] * 4, other: [8.0] * 4)
    asked = Array.new(@load.asked.size) { @load.asked.pop }
    assert_equal [["http://own", 256], ["http://own-admin", 4]], asked.map { |each| each.take(2) }.uniq.sort
    asked.each { |*, due| assert_in_delta 10.0, due, 1.0 }
    assert_equal 6, figures["error_count"]
  end

  def test_without_a_server_there_are_no_figures
    assert_equal "the server ended under load: killed", assert_raises(Error) { take(own: [1.0] * 4, other: [1.0] * 4, alive: false) }.message
  end

  def test_the_report_names_the_company_and_the_other_server
    assert_equal ["/hog", "off"], WorkTurns.new(company: HOGS, other: StandIn.new("off")).to_h.values_at(:beside, :other)
  end

  private

  def take(alive: true, **seconds)
    process, other = %w[own other].map { |name| StandIn.new(name, alive) }
    host = StandInHost.new(other)
    @load = StandInLoad.new
    @asked = []
    scenario = Scenario.new(name: "n", title: "t", load: WorkTurns.new(company: HOGS, other: :off), warmup: nil)
    work = ->(url) { StandInWork.new(url.delete_prefix("http://"), seconds.transform_keys(&:to_s), @asked) }
    WorkTurnsMeasurement.new(app: "a.ru", load_generator: @load, work: work, host: host).take(process, scenario, Settings.for(rounds: 1, seconds: 8)).tap do
      assert_equal [:off, "a.ru", "/"], host.started
    end
  end
end
