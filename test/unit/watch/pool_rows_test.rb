# frozen_string_literal: true

require_relative "watch_case"
require "neverblock/watch/pool_rows"

class PoolRowsTest < WatchCase
  def rows(*pools, **options)
    PoolRows.new(Document.new({ "pools" => pools }), **options).to_a
  end

  def pool(minute: {}, **changes)
    { "worker" => 0, "kind" => "sequel", "name" => "shop", "size" => 5, "in_use" => 5,
      "waiting" => 3, "would_do" => 9,
      "last_minute" => { "demand_max" => 9, "acquired" => 1000, "waited" => 380,
                         "waited_s" => 45.6 }.merge(minute) }.merge(changes.transform_keys(&:to_s))
  end

  IDLE = { "demand_max" => 0, "acquired" => 0, "waited" => 0, "waited_s" => 0 }.freeze

  def test_a_pool_is_a_row
    assert_equal [PoolRows::HEADER,
                  ["shop", "sequel", "0", "5 of 5", "3", "9", "38 %", "120 ms", "9"]], rows(pool)
  end

  def test_what_is_not_known_or_did_not_happen_is_a_dash
    assert_equal %w[shop sequel 0 2 0 0 - - -],
                 rows(pool(size: nil, in_use: 2, waiting: 0, would_do: nil, minute: IDLE)).last
    assert_equal ["?", "?", "-", "-", "-", "0", "-", "-", "-"], rows({}).last
  end

  def test_requests_that_were_held_back_are_more
    assert_equal "9+", rows(pool(minute: { "held_back" => true })).last[5]
  end

  def test_the_longest_waits_come_first
    quiet = pool(name: "quiet", minute: { "waited_s" => 0.1 })
    assert_equal %w[pool shop quiet], rows(quiet, pool).map(&:first)
  end

  def test_pools_that_nobody_wanted_can_be_left_out
    assert_empty rows(pool(minute: IDLE), used: true)
    assert_equal 2, rows(pool, pool(name: "idle", minute: IDLE), used: true).size
    assert_empty rows
  end
end
