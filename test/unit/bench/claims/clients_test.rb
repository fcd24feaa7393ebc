# frozen_string_literal: true

require_relative "../bench_case"

class BenchClientsTest < BenchCase
  OWN = ["neverblock fibers", "neverblock pool"].freeze
  DELAYS = [0, 10, 50, 100, 500].freeze

  def setup
    @claim = Catalog.new.find("clients")
  end

  def test_1900_a_second_are_wanted_at_500_ms
    assert_equal %i[met met], statuses(/requests a second at 500 ms/, 1900)
    assert_equal %i[missed missed], statuses(/requests a second at 500 ms/, 1899)
  end

  def test_it_is_never_behind_threads_or_async
    assert_equal %i[met] * 20, statuses(/over (threads|async)'s/, 2000, others: 2000)
    assert_equal %i[missed] * 20, statuses(/over (threads|async)'s/, 2000, others: 2001)
  end

  def test_a_request_that_failed_is_an_error
    assert_equal %i[met met], statuses(/errors/, 2000)
    assert_equal %i[missed missed], statuses(/errors/, 2000, errors: 1)
  end

  def test_without_a_peer_its_verdicts_are_unknown
    verdicts = @claim.verdicts(Results.new([], servers: OWN))
    assert_equal [:unknown], verdicts.map(&:status).uniq
  end

  def test_every_candidate_is_a_process_of_its_own_on_the_same_program_and_leaves_the_server_a_core
    prefix = Cores.program_prefix
    assert_equal(["blocking", "threads", *OWN, "async"], @claim.candidates.map(&:name))
    assert_equal 1, @claim.candidates.map(&:command).uniq.size
    assert_equal prefix, @claim.candidates.first.command.first(prefix.size)
  end

  def test_at_500_ms_a_run_has_forty_waves
    longest = @claim.scenarios.last
    assert_equal 20, longest.seconds(Settings.for)
    assert_equal 4, longest.seconds(Settings.for(quick: true))
  end

  def test_the_table_has_the_ideal_the_candidates_and_2009
    rows = @claim.tables(results(1900, others: 600)).first.rows
    assert_equal ["ideal", "-", "100,000", "20,000", "10,000", "2,000"], rows.first
    assert_equal ["neverblock fibers", *["1,900"] * 5], rows[1]
    assert_equal ["2009: NeverBlock", "2,360", "1,997", "1,837", "1,656", "1,031"], rows.last
  end

  private

  def statuses(pattern, own, others: 1, errors: 0)
    verdicts = @claim.verdicts(results(own, others: others, errors: errors))
    verdicts.select { |verdict| verdict.text.match?(pattern) }.map(&:status)
  end

  def results(own, others:, errors: 0)
    runs = OWN.product(DELAYS).map do |name, delay|
      run_of(name, scenario: "delay #{delay} ms", rate: own, error_count: errors)
    end
    runs += %w[threads async].product(DELAYS).map do |name, delay|
      run_of(name, scenario: "delay #{delay} ms", rate: others)
    end
    Results.new(runs, servers: [*OWN, "threads", "async"])
  end
end
