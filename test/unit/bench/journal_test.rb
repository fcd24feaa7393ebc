# frozen_string_literal: true

require_relative "bench_case"

class BenchJournalTest < BenchCase
  class LongClaim < StandInClaim
    def resumable?
      true
    end
  end

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "new/claim.runs")
  end

  def teardown
    FileUtils.rm_rf(@directory)
  end

  def test_what_was_kept_is_found_by_its_place
    journal.add(run_of("a", scenario: "one", rate: 5), { "yjit" => true })
    journal.add(run_of("a", scenario: "two", rate: 6), { "yjit" => true })
    found = journal
    two = found.find(1, "two", "a")
    assert_equal [2, 6, { "yjit" => true }], [found.size, two.run["rate"], two.seen]
    [[2, "two", "a"], [1, "three", "a"], [1, "two", "b"]].each do |place|
      assert_nil found.find(*place)
    end
  end

  def test_runs_of_another_plan_are_not_taken_over
    journal.add(run_of("a"), {})
    assert_equal 0, journal(plan: { seconds: 9 }).size
    journal(plan: { seconds: 9 }).add(run_of("b"), {})
    assert_equal [0, 1], [journal.size, journal(plan: { seconds: 9 }).size]
  end

  def test_a_file_that_is_no_journal_is_none
    FileUtils.mkdir_p(File.dirname(@path))
    File.write(@path, "{\"plan\":")
    assert_equal 0, journal.size
  end

  def test_when_it_is_removed_all_begins_anew
    journal.add(run_of("a"), {})
    journal.remove
    assert_equal 0, journal.size
  end

  def test_one_that_keeps_nothing_keeps_nothing
    none = Journal.none
    none.add(run_of("a"), {})
    none.remove
    assert_equal [0, nil], [none.size, none.path]
  end

  def test_only_a_claim_of_long_runs_has_one
    settings = Settings.for(quick: true)
    assert_nil Journal.of(StandInClaim.new, settings, @directory).path
    assert_equal File.join(@directory, "standin-quick.runs"),
                 Journal.of(LongClaim.new, settings, @directory).path
  end

  def test_more_rounds_are_the_same_plan_and_longer_runs_are_not
    Journal.of(LongClaim.new, Settings.for(rounds: 1), @directory).add(run_of("a"), {})
    assert_equal 1, Journal.of(LongClaim.new, Settings.for(rounds: 2), @directory).size
    assert_equal 0, Journal.of(LongClaim.new, Settings.for(seconds: 9), @directory).size
  end

  private

  def journal(plan: { seconds: 2 })
    Journal.new(@path, plan)
  end
end
