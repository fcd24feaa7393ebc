# frozen_string_literal: true

# The pools that requests wait at, as the admin address shows them: each kind, with its name, while
# its places are held and others wait, and also while a worker is stuck.

require_relative "../support/pools_case"

class PoolsTest < PoolsCase
  NAMES = {
    "neverblock" => /\Aconfig\.ru:5\z/, "connection_pool" => /\Aconfig\.ru:6\z/,
    "fibers" => /\Aconfig\.ru:7\z/, "sequel" => /\Ashop\z/, "active_record" => /\Aprimary\z/
  }.freeze

  NAMES.each do |kind, name|
    define_method("test_a_pool_of_#{kind}_is_shown_with_who_waits_and_what_would_do") do
      before = totals(kind)
      queued(kind, 1) do
        pool = await_pool(kind) { |one| one["would_do"] }
        assert_match name, pool["name"]
        assert_equal [1, 1, 1, 2], pool.values_at("size", "in_use", "waiting", "would_do")
        assert_waits_for(pool) unless kind == "fibers" # there the block waits, and no fiber
      end
      pool = await_pool(kind) { |one| one.values_at("in_use", "waiting") == [0, 0] }
      minute = pool.fetch("last_minute")
      assert_equal 2, minute["demand_max"]
      assert_equal minute.values_at("acquired", "waited"),
                   pool.values_at("acquired_total", "waited_total")
      assert_operator minute["waited_s"], :>=, 0.001
      assert_equal [2, 1], totals(kind).zip(before).map { |now, earlier| now - earlier }
      assert_equal 0, pool["worker"]
    end
  end

  def test_the_commands_show_them
    queued("neverblock", 1) do
      await_pool("neverblock") { |one| one["would_do"] }
      out, = command("--state", "waiting")
      assert_match(/waits for a place in the pool config\.ru:5 \(1 of 1 in use\)/, out)
      out, = command(name: "status")
      assert_match(/^config\.ru:5 +neverblock +0 +1 of 1 +1 +2 .* 2$/, out)
    end
  end

  private

  # Some are shown when they are first used.
  def totals(kind)
    pool = pools.find { |one| one["kind"] == kind } || {}
    %w[acquired_total waited_total].map { |name| pool.fetch(name, 0) }
  end

  def assert_waits_for(pool)
    fibers = document.fetch("fibers").filter_map { |fiber| fiber["waits_for"] }
    waits = fibers.select { |wait| wait["kind"] == "pool" }
    assert_equal ["#{pool["name"]} (1 of 1 in use)"], waits.map { |wait| wait["name"] }
  end
end

# Where the wait queue is as long as the pool, requests wait before the application is called, and
# then in the loop, where no pool sees them.
class PoolsHeldBackTest < PoolsCase
  def test_requests_that_are_held_back_are_known_to_be_more
    2.times { |waiters| queued("sequel", waiters) { nil } } # the class is known to use the pool
    queued("sequel", 2) do
      pool = await_pool("sequel") { |one| one.dig("last_minute", "held_back") }
      assert_equal [1, 2], pool.values_at("in_use", "waiting")
    end
  end
end

class PoolsOfWorkersTest < PoolsCase
  def self.options
    %w[-w 2]
  end

  # Each worker has its own pool of one place, so that one of three requests has to wait.
  def test_each_worker_has_its_own_pools_and_they_are_shown_while_it_is_stuck
    held = Array.new(3) { new_tag }
    fifos = held.map { |tag| make_fifo(tag) }
    writers = []
    # a writer waits for its reader, whose turn at the pool may come later
    release = -> { writers.concat(fifos.map { |fifo| Thread.new { write_fifo(fifo) } }) }
    all_under_way("child", held, release) do
      Patience.await("one of three waits") { demand == 3 && sum("waiting").positive? }
      both_stuck { assert_shown_and_going_on }
    end
    writers.each(&:join)
  end

  private

  def own
    pools.select { |pool| pool["kind"] == "neverblock" }
  end

  def sum(name)
    own.sum { |pool| pool.fetch(name) }
  end

  def demand
    sum("in_use") + sum("waiting")
  end

  def waited_s
    own.sum { |pool| pool.dig("last_minute", "waited_s") }
  end

  def all_under_way(kind, tags, release, &block)
    return yield if tags.empty?

    go = -> { release.call if tags.one? }
    under_way(kind, tags.first, release: go) { all_under_way(kind, tags.drop(1), release, &block) }
  end

  def both_stuck(&block)
    tags = Array.new(2) { new_tag }
    fifos = tags.map { |tag| make_fifo(tag) }
    releases = fifos.map { |fifo| -> { (@open ||= []) << open_fifo(fifo) } }
    under_way("c_call", tags[0], release: releases[0]) do
      found("c_call", tags[0]) { |fiber| fiber["stalls_in"] }
      under_way("c_call", tags[1], release: releases[1]) do
        found("c_call", tags[1]) { |fiber| fiber["stalls_in"] }
        block.call
      end
    end
  end

  def assert_shown_and_going_on
    assert_equal [0, 1], own.map { |pool| pool["worker"] }.sort
    assert_equal 2, own.map { |pool| pool["pid"] }.uniq.size
    assert_equal 3, demand
    before = waited_s
    Patience.await("the wait goes on") { waited_s > before }
    text = HTTPClient.get(URI("#{server.admin_url}/metrics"))
    own.each do |pool|
      labels = "pool=\"#{pool["name"]}\",kind=\"neverblock\",worker=\"#{pool["worker"]}\""
      assert_includes text, "neverblock_pool_waiting{#{labels}} #{pool["waiting"]}\n"
    end
  end
end
