# frozen_string_literal: true

require_relative "bench_case"

class BenchQueueModelTest < BenchCase
  def test_erlangs_c_has_its_known_values
    assert_in_delta 0.5964, QueueModel.new(servers: 4, load: 0.8, service: 1).waiting_share, 1e-4
    assert_in_delta 1.0 / 3, QueueModel.new(servers: 2, load: 0.5, service: 1).waiting_share, 1e-12
    assert_in_delta 0.7, QueueModel.new(servers: 1, load: 0.7, service: 1).waiting_share, 1e-12
  end

  # M/M/1: the time in the system is exponential with the rate that is left over.
  def test_one_server_gives_the_closed_form
    model = QueueModel.new(servers: 1, load: 0.8, service: 0.02)
    assert_in_delta Math.log(100) * 0.02 / 0.2, model.percentile(0.99), 1e-9
    assert_in_delta Math.exp(-0.5), model.longer_than(0.05), 1e-12
  end

  def test_a_queue_with_hardly_any_load_is_its_service_time
    model = QueueModel.new(servers: 4, load: 1e-6, service: 1)
    assert_in_delta Math.log(100), model.percentile(0.99), 1e-6
  end

  # Where waiting and service have the same rate (c - a = 1), the sum of both has Erlang's
  # distribution. A rate beside it gives nearly the same figure.
  def test_the_formula_holds_where_both_rates_are_the_same
    at, beside = [2.0 / 3, (2.0 / 3) + 1e-5].map do |load|
      QueueModel.new(servers: 3, load: load, service: 1).longer_than(3)
    end
    assert_in_delta at, beside, 1e-4
  end

  def test_four_servers_at_four_fifths_of_their_load
    model = QueueModel.new(servers: 4, load: 0.8, service: 0.02)
    assert_in_delta 160, model.arrivals
    assert_in_delta 0.01, model.longer_than(model.percentile(0.99)), 1e-9
    assert_in_delta 0.13786, model.percentile(0.99), 1e-5
  end

  # Two ways to the same figure: the formula, and 300,000 requests played through.
  def test_what_is_played_agrees_with_the_formula
    jobs = Arrivals.new(rate: 160, path: "/", service_ms: 20).jobs(2000, 9)
    played = QueueModel.play(jobs.map { |job| [job.due, job.service] }, servers: 4)
    formula = QueueModel.new(servers: 4, load: 0.8, service: 0.02).percentile(0.99)
    assert_in_delta formula, OpenMeasurement.percentile(played.sort, 0.99), 0.005
  end

  def test_a_request_goes_to_the_first_server_that_is_free
    jobs = [[0.0, 3.0], [0.0, 1.0], [0.0, 1.0], [0.0, 2.0]]
    assert_equal [3.0, 1.0, 2.0, 4.0], QueueModel.play(jobs, servers: 2)
  end

  def test_a_stop_lengthens_what_runs_and_nothing_begins_in_it
    stop = QueueModel::Stop.new(from: 1.0, length: 1.0)
    assert_equal [3.0], QueueModel.play([[0.0, 2.0]], servers: 1, stops: [stop])
    assert_equal [1.5], QueueModel.play([[1.5, 1.0]], servers: 1, stops: [stop])
    assert_equal [1.0], QueueModel.play([[1.5, 1.0]], servers: 2, stops: [stop])
    assert_equal [1.0], QueueModel.play([[0.0, 1.0]], servers: 1, stops: [stop])
  end

  def test_a_load_that_no_queue_bears_is_refused
    error = assert_raises(Error) { QueueModel.new(servers: 4, load: 1.0, service: 1) }
    assert_match(/1\.0/, error.message)
  end
end
