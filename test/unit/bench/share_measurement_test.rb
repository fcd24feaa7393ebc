# frozen_string_literal: true

require_relative "bench_case"

class BenchShareMeasurementTest < BenchCase
  LOAD = ShareOfMost.new(path: "/a", share: 0.2, beside: "/loop")

  def test_the_rate_is_a_share_of_what_the_first_server_did_and_the_same_for_all
    measurement = ShareMeasurement.new(most: most(1_000.0, 5_000.0), arrivals: self)
    found = Array.new(2) { figures(measurement).values_at("most_rate", "asked_rate", "p99_us") }
    assert_equal [[1_000.0, 200.0, 7], [5_000.0, 200.0, 7]], found
    loads = @taken.map { |load| load.to_h.values_at(:rate, :path, :connections, :beside) }
    assert_equal [[200.0, "/a", 64, "/loop"]] * 2, loads
    assert_equal [[64, "/a", "http://h", 2]] * 2, @asked
  end

  def test_a_server_that_answers_nothing_is_not_measured
    measurement = ShareMeasurement.new(most: most(0.0), arrivals: self)
    error = assert_raises(Error) { figures(measurement) }
    assert_match(/has no correct response/, error.message)
  end

  # What a measurement of arrivals does.
  def take(_process, scenario, _settings)
    (@taken ||= []) << scenario.load
    { "p99_us" => 7 }
  end

  private

  def figures(measurement)
    scenario = Scenario.new(name: "n", title: "t", load: LOAD)
    measurement.take(Struct.new(:url).new("http://h"), scenario, Settings.for)
  end

  def most(*rates)
    @asked = asked = []
    Object.new.tap do |load|
      load.define_singleton_method(:run) do |told, url:, seconds:|
        asked << [told.connections, told.path, url, seconds]
        Struct.new(:rate).new(rates.shift)
      end
    end
  end
end
