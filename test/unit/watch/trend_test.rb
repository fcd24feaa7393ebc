# frozen_string_literal: true

require_relative "watch_case"
require "neverblock/watch/trend"

class WatchTrendTest < WatchCase
  def trend(*documents)
    documents.inject(Trend.new) { |trend, one| trend.add(one) }
  end

  def test_rates_are_differences_by_the_servers_own_clock
    two = trend(
      document(uptime_s: 10.0, requests: { total: 100 }),
      document(uptime_s: 12.0, requests: { total: 500 })
    )
    assert_equal 200.0, two.rate("requests", "total")
    assert_equal [nil, 200.0], two.history(Trend::REQUESTS)
    assert_equal 0.0, two.rate("bytes", "sent_total")
  end

  def test_one_document_has_no_rate
    assert_nil trend(document).rate("requests", "total")
  end

  def test_a_mean_is_of_what_came_between
    two = trend(
      document(latency_s: { run: { count: 10, sum: 1.0 } }),
      document(latency_s: { run: { count: 14, sum: 3.0 } })
    )
    assert_in_delta 0.5, two.mean("latency_s", "run")
    assert_nil two.mean("latency_s", "queue")
  end

  def test_a_server_that_was_started_anew_begins_anew
    assert_nil trend(document, document(pid: 1, uptime_s: 8_000)).rate("requests", "total")
    restarted = document(started_at: "2026-11-21T23:00:00Z", uptime_s: 8_000)
    assert_nil trend(document, restarted).rate("requests", "total")
  end

  def test_a_counter_that_went_back_and_a_clock_that_stood_have_no_rate
    less = document(uptime_s: 8_000, requests: { total: 1 })
    assert_nil trend(document, less).rate("requests", "total")
    assert_nil trend(document, document).rate("requests", "total")
  end

  def test_after_a_gap_the_rate_goes_on_from_the_last_document
    three = trend(
      document(uptime_s: 10.0, requests: { total: 100 }),
      nil,
      document(uptime_s: 20.0, requests: { total: 200 })
    )
    assert_equal [nil, nil, 10.0], three.history(Trend::REQUESTS)
    assert_equal 20.0, three.document.number("uptime_s")
  end

  def test_executors_are_known_by_their_ids
    before = document(
      uptime_s: 10.0, executors: [{ id: 0, turns_total: 5 }, { id: 1, turns_total: 100 }]
    )
    after = document(
      uptime_s: 11.0, executors: [{ id: 1, turns_total: 130 }, { id: 2, turns_total: 9 }]
    )
    two = trend(before, after)
    assert_equal 30.0, two.executor_rate(1, "turns_total")
    assert_nil two.executor_rate(2, "turns_total")
  end

  def test_of_executors_with_one_id_the_process_tells
    before = document(uptime_s: 10.0, executors: [{ id: 0, pid: 7, turns_total: 5 }])
    after = document(uptime_s: 11.0, executors: [{ id: 0, pid: 7, turns_total: 8 },
                                                 { id: 0, pid: 9, turns_total: 1 }])
    two = trend(before, after)
    assert_equal 3.0, two.executor_rate(0, "turns_total", pid: 7)
    assert_nil two.executor_rate(0, "turns_total", pid: 9)
  end

  def test_the_history_has_an_end
    long = Trend.new
    300.times { long.add(document) }
    assert_equal Trend::HISTORY_MAX, long.history(Trend::SENT).size
  end
end
