# frozen_string_literal: true

require_relative "bench_case"

class BenchCompanyMeasurementTest < BenchCase
  LIGHT = Arrivals.new(rate: 100, path: "/")
  ASIDE = Aside.new(name: "health",
                    arrivals: Arrivals.new(rate: 100, path: "/health", connections: 4), admin: true)

  # Says what it was told, and runs what goes on meanwhile.
  class StandInCompany
    attr_reader :told

    def during(path, clients:)
      @told = [path, clients]
      [yield, 7]
    end
  end

  class StandInLight
    def take(_process, scenario, _settings, around:)
      { "answers" => around.call { :answers }, "path" => scenario.load.path, "error_count" => 1,
        "flags" => [] }
    end
  end

  class StandInLoad
    attr_reader :asked

    def run(jobs, url:, connections:)
      @asked = [url, connections]
      jobs.each_with_index.map do |_, place|
        NeverBlock::Bench::OpenLoop::Answer.new(0, 0, 100 * (place + 1), place.zero? ? 503 : 200, 0)
      end
    end
  end

  StandInProcess = Struct.new(:url, :admin_url, :alive?)

  def setup
    @company = StandInCompany.new
    @load = StandInLoad.new
    @paused = []
  end

  def test_the_figures_are_the_light_requests_and_those_beside_them_are_told_by_name
    figures = take(Company.new(light: LIGHT, beside: "/hog", clients: 4, asides: [ASIDE]))
    assert_equal [:answers, "/", 2, 7],
                 figures.values_at("answers", "path", "error_count", "beside_count")
    assert_operator figures["health_p50_us"], :<, figures["health_max_us"]
    assert_equal ["/hog", 4], @company.told
    assert_equal ["http://admin", 4], @load.asked
  end

  def test_the_company_begins_first
    take(Company.new(light: LIGHT, beside: "/hog"))
    assert_equal [CompanyMeasurement::HEAD_START_SECONDS], @paused
  end

  private

  def take(load)
    measurement = CompanyMeasurement.new(
      light: StandInLight.new, load_generator: @load, company: ->(_) { @company },
      pause: ->(seconds) { @paused << seconds }
    )
    measurement.take(process, Scenario.new(name: "n", title: "t", load: load), settings)
  end

  def process
    StandInProcess.new("http://h", "http://admin", true)
  end

  def settings
    Settings.for(rounds: 1, seconds: 8)
  end
end
