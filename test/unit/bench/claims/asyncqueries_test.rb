# frozen_string_literal: true

require_relative "../bench_case"

class BenchAsyncqueriesTest < BenchCase
  def setup
    @claim = Catalog.new.find("asyncqueries")
  end

  def results(own_cpu: 10, alone_ms: 51, errors: 0)
    names = @claim.candidates.map(&:name).product(@claim.scenarios.map(&:name))
    runs = names.map do |name, scenario|
      own = name == "neverblock"
      run_of(name, scenario: scenario, rate: 100, cpu_us_per_request: own ? own_cpu : 10,
                   p50_us: own ? alone_ms * 1000 : 1, p99_us: 3, rss_peak_bytes: 1,
                   error_count: own ? errors : 0)
    end
    Results.new(runs, servers: @claim.candidates.map(&:name))
  end

  def missed(**given)
    @claim.verdicts(results(**given)).select { |verdict| verdict.status == :missed }.map(&:text)
  end

  def test_fibers_stand_beside_rails_threads_in_the_same_server_and_in_puma
    assert_equal ["neverblock", "neverblock async threads", "puma 48"],
                 @claim.candidates.map(&:name)
  end

  def test_every_claim_is_met_at_its_limit
    assert_equal [:met], @claim.verdicts(results).map(&:status).uniq
    assert_empty missed(alone_ms: 75)
  end

  def test_queries_one_after_the_other_are_told
    assert_equal 1, missed(alone_ms: 150).size
  end

  def test_what_costs_more_than_threads_is_told
    assert_equal 4, missed(own_cpu: 11).size
    assert_equal 1, missed(errors: 1).size
  end

  def test_every_table_has_a_cell_for_every_column
    @claim.tables(results).each { |table| assert_whole_rows(table) }
  end
end
