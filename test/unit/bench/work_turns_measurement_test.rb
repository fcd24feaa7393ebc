# frozen_string_literal: true

require_relative "bench_case"

class BenchWorkTurnsMeasurementTest < BenchCase
  # A server that is suspended and resumed as it is told. `does` says how many turns each work
  # takes; the first is the unmeasured one.
  class StandIn
    attr_reader :name, :asked, :turns

    def initialize(name, does = [], alive: true)
      @name = name
      @does = does
      @alive = alive
      @asked = []
      @turns = 0
      @lock = Mutex.new
      @change = ConditionVariable.new
      @goes = true
      @over = -1
    end

    def url = "http://#{name}"
    def admin_url = "http://#{name}-admin"
    def last_words = "killed"
    def alive? = @alive

    def suspend
      @lock.synchronize { @goes = false }
    end

    def resume
      @lock.synchronize do
        @turns += 1 unless @goes
        @goes = true
        @change.broadcast
      end
    end

    # Returns in the turn in which the work is to end; at once for the unmeasured work. The server
    # goes on once between two works.
    def work(path, clients)
      @asked << [path, clients]
      @over += 1 + @does.shift
      @lock.synchronize { @change.wait(@lock) until @turns >= @over }
    end
  end

  # What starts the other servers.
  StandInHost = Struct.new(:processes, :started) do
    def run(server, app:, path:)
      started << [server, app, path]
      yield processes.shift
    end
  end

  StandInWork = Struct.new(:process) do
    def once(path, clients:)
      process.work(path, clients)
    end
  end

  # One of each two fails.
  StandInLight = Struct.new(:url, :path, :told) do
    def go = told << :go
    def pause = told << :pause
    def stop = 1
  end

  HEALTH = Arrivals.new(rate: 100, path: "/health", connections: 4)
  HOGS = Company.new(light: Arrivals.new(rate: 100, path: "/"), beside: "/hog", clients: 4,
                     asides: [Aside.new(name: "health", arrivals: HEALTH, admin: true)])

  def test_what_is_kept_is_the_work_of_a_second_over_the_others
    figures = take(own: [0, 8, 8, 9], other: [0, 1, 1, 1])
    assert_equal 3, figures["works"]
    assert_in_delta figures["other_seconds"] / figures["seconds"], figures["kept_share"], 0.02
    assert_operator figures["kept_share"], :<, 1
  end

  def test_each_goes_on_by_turns_until_its_own_work_is_done_and_all_of_them_go_on_in_the_end
    take(own: [0, 2, 2, 2], other: [0, 3, 3, 3])
    assert_equal [["/hog", 4]] * 4, @processes.first.asked
    assert_equal [["/hog", 4]] * 4, @processes[1].asked
    enough = @processes.first(2).zip([3 * 3, 3 * 4]).map do |process, turns|
      process.turns >= turns
    end
    assert_equal [true, true], enough, "a turn for each, and one when all is over"
  end

  def test_light_requests_go_to_the_one_in_its_turns_and_to_the_third_in_the_others
    figures = take(own: [0, 2, 2, 2], other: [0, 2, 2, 2])
    assert_equal ["http://own", "http://own-admin", "http://third", "http://third-admin"],
                 @lights.map(&:url)
    assert_equal %w[/ /health] * 2, @lights.map(&:path)
    @lights.each { |light| assert_equal [%i[go pause]], light.told.each_slice(2).to_a.uniq }
    assert_equal [true] * 4, @lights.map { |light| light.told.size >= 2 * 6 }
    assert_equal 2, figures["error_count"], "of those to the server itself"
  end

  def test_without_a_server_there_are_no_figures
    error = assert_raises(Error) do
      take(own: [0, 1, 1, 1], other: [0, 1, 1, 1], alive: false)
    end
    assert_equal "the server ended under load: killed", error.message
  end

  def test_the_report_names_the_company_and_the_other_server
    turns = WorkTurns.new(company: HOGS, other: StandIn.new("off"))
    assert_equal ["/hog", "off"], turns.to_h.values_at(:beside, :other)
  end

  private

  def take(own:, other:, alive: true)
    @processes = [StandIn.new("own", own), StandIn.new("other", other, alive: alive),
                  StandIn.new("third")]
    @lights = []
    host = StandInHost.new(@processes.drop(1), [])
    turns = WorkTurns.new(company: HOGS, other: :off)
    scenario = Scenario.new(name: "n", title: "t", load: turns, warmup: nil)
    measurement = WorkTurnsMeasurement.new(
      app: "a.ru", host: host, turn_seconds: 0.01,
      work: ->(url) { StandInWork.new(@processes.find { |each| each.url == url }) },
      light: ->(url, arrivals) { light(url, arrivals.path) }
    )
    figures = measurement.take(@processes.first, scenario, Settings.for(rounds: 1, seconds: 8))
    assert_equal [[:off, "a.ru", "/"]] * 2, host.started
    figures
  end

  def light(url, path)
    StandInLight.new(url, path, []).tap { |light| @lights << light }
  end
end
