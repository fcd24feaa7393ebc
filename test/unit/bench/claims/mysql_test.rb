# frozen_string_literal: true

require_relative "../bench_case"

class BenchMysqlTest < BenchCase
  WAYS = %w[blocking threads neverblock async].freeze
  LOADS = ["10 sleeping queries", "every fifth long", "short queries",
           "12 prepared statements"].freeze

  def setup
    @claim = Catalog.new.find("mysql")
  end

  def results(own: 90, others: {}, errors: 0)
    runs = WAYS.product(LOADS).map do |way, load|
      ours = way == "neverblock"
      run_of(way, scenario: load, rate: ours ? own : others.fetch([load, way], 10),
                  error_count: ours ? errors : 0)
    end
    Results.new(runs, servers: WAYS)
  end

  def missed(**given)
    @claim.verdicts(results(**given)).select { |verdict| verdict.status == :missed }.map(&:text)
  end

  def test_nine_times_the_blocking_way_and_no_less_than_threads_are_wanted
    assert_empty missed
    assert_equal ["10 sleeping queries: queries a second over blocking's",
                  "12 prepared statements: queries a second over async's"], missed(own: 89)
    assert_equal ["short queries: queries a second over threads's"],
                 missed(others: { ["short queries", "threads"] => 91 })
  end

  def test_a_query_that_failed_is_an_error
    assert_equal 1, missed(errors: 1).size
  end

  def test_every_way_is_a_process_of_its_own_on_the_same_program
    assert_equal WAYS, @claim.candidates.map(&:name)
    assert_equal 1, @claim.candidates.map(&:command).uniq.size
    assert_equal LOADS, @claim.scenarios.map(&:name)
    assert_equal LOADS, @claim.tables(results).map(&:title)
  end
end
