# frozen_string_literal: true

require_relative "../../../support/unit"
require "neverblock/watch/advice/pools"
require "open3"
require "rbconfig"

# What is said of pools, made of documents of /status.json.
class AdviceOfPoolsTest < Minitest::Test
  ROOT = File.expand_path("../../../..", __dir__)

  # 38 of 100 have waited for 120 ms each.
  def pool(minute: {}, **changes)
    { "worker" => 0, "kind" => "active_record", "name" => "primary", "size" => 5, "in_use" => 5,
      "waiting" => 0, "would_do" => 12,
      "last_minute" => { "demand_max" => 12, "acquired" => 100, "waited" => 38,
                         "waited_s" => 4.56 }.merge(minute) }.merge(changes.transform_keys(&:to_s))
  end

  def advice(*pools)
    NeverBlock::Watch::Advice::Pools.of("pools" => pools)
  end

  def test_who_waits_at_a_pool_is_told_its_size_and_what_would_do
    found = advice(pool)
    assert_equal 1, found.size
    assert_equal(
      { "kind" => "pool", "pool" => "primary", "pool_kind" => "active_record", "size" => 5,
        "would_do" => 12, "waited_share" => 0.38,
        "title" => "The pool primary (5 connections) made 38 % of requests wait, 120 ms each; " \
                   "12 would do" },
      found.first.except("mend", "waited_s")
    )
    assert_in_delta 0.12, found.first["waited_s"]
    assert_includes found.first["mend"], "`pool: 12` in config/database.yml"
    assert_includes found.first["mend"], "(max_connections) has to leave room for 12."
    refute_includes found.first["mend"], "each process"
  end

  MENDS = {
    "sequel" => "`Sequel.connect(url, max_connections: 12)`",
    "connection_pool" => "`ConnectionPool.new(size: 12)`",
    "neverblock" => "`NB::Pool::FiberedConnectionPool.new(size: 12)`",
    "fibers" => "`NB::FiberPool.new(12)`", "pond" => "a size of 12"
  }.freeze

  MENDS.each do |kind, mend|
    define_method("test_the_size_of_a_pool_of_#{kind}_is_written_so") do
      found = advice(pool(kind: kind)).first
      assert_equal mend, found["mend"].split("; ").first
      assert_equal kind == "sequel", found["mend"].include?("database")
    end
  end

  def test_fibers_have_blocks_and_one_place_is_no_plural
    assert_equal "The pool a.rb:1 (1 fiber) made 38 % of blocks wait, 120 ms each; 12 would do",
                 advice(pool(kind: "fibers", name: "a.rb:1", size: 1)).first["title"]
  end

  def test_workers_have_one_advice_together_and_the_number_is_for_each
    busy = { "acquired" => 200, "waited" => 38, "waited_s" => 9.12, "held_back" => true }
    quiet = { "waited" => 0, "waited_s" => 0 }
    found = advice(pool(pid: 10), pool(pid: 11, worker: 1, would_do: 14, minute: busy),
                   pool(pid: 12, worker: 2, would_do: nil, minute: quiet))
    assert_equal ["The pool primary (5 connections in each of 3 workers) made 19 % of requests " \
                  "wait, 180 ms each; at least 14 would do"], (found.map { |one| one["title"] })
    assert_includes found.first["mend"], " from Rails 8.1 on), which is for each process; "
    assert_includes found.first["mend"], "has to leave room for 42 (3 × 14)."
  end

  def test_pools_of_one_name_and_different_kinds_are_different_and_the_longest_waits_come_first
    other = pool(kind: "sequel", minute: { "waited_s" => 9.0 })
    assert_equal %w[sequel active_record], (advice(pool, other).map { |one| one["pool_kind"] })
  end

  def test_who_waits_since_before_the_last_minute_counts
    stuck = { "acquired" => 0, "waited" => 0, "waited_s" => 120.0 }
    found = advice(pool(waiting: 2, would_do: 7, minute: stuck)).first
    assert_equal [1.0, 60.0], found.values_at("waited_share", "waited_s")
  end

  QUIET = {
    "nobody_has_waited" => { "waited" => 0, "waited_s" => 0 },
    "the_waits_are_a_trifle" => { "waited_s" => 38 * 0.000_99 },
    "few_have_waited_for_a_moment" => { "acquired" => 10_000, "waited" => 99, "waited_s" => 9.8 }
  }.freeze

  QUIET.each do |name, minute|
    define_method("test_nothing_is_said_where_#{name}") do
      assert_empty advice(pool(minute: minute))
    end
  end

  def test_few_that_have_waited_for_long_are_worth_a_word
    found = advice(pool(minute: { "acquired" => 10_000, "waited" => 99, "waited_s" => 10.0 }))
    assert_includes found.first["title"], "made less than 1 % of requests wait"
  end

  def test_a_pool_that_is_large_enough_by_now_is_not_mentioned
    assert_empty advice(pool(size: 12))
    assert_empty advice(pool(would_do: nil))
    assert_empty advice(pool(size: nil))
  end

  def test_a_document_of_another_version_is_no_error
    pools = NeverBlock::Watch::Advice::Pools
    [{}, { "pools" => nil }, { "pools" => [1, nil, {}, { "name" => "x" }] },
     { "pools" => [{ "name" => "x", "last_minute" => { "waited" => "many" } }] }].each do |status|
      assert_empty pools.of(status)
    end
  end

  def test_it_loads_alone
    code = "require 'neverblock/watch/advice/pools'; " \
           "p defined?(NeverBlock::Scheduler), NeverBlock::Watch::Advice::Pools.of({})"
    out, status = Open3.capture2e(RbConfig.ruby, "-I", File.join(ROOT, "lib"), "-e", code)
    assert_equal ["nil\n[]\n", true], [out, status.success?]
  end
end
