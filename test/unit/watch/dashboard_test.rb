# frozen_string_literal: true

require_relative "watch_case"
require "neverblock/watch/dashboard"

class WatchDashboardTest < WatchCase
  def dashboard(*documents)
    trend = documents.inject(Trend.new) { |before, one| before.add(one) }
    Dashboard.new(bind("http://127.0.0.1:9293"), trend)
  end

  def text(lines)
    lines.map { |spans| spans.map(&:first).join }
  end

  BUSY = [{ id: 0, running: 1, busy_for_s: 0.05 }, { id: 1, running: 7, busy_for_s: 2.5 }].freeze

  def test_it_fits_a_screen_of_80_by_24_with_all_there_is
    later = document(uptime_s: 7_981.5, requests: { total: 1_235_801 })
    lines = text(dashboard(document, later).screen(24, 80))
    assert_equal 23, lines.size
    assert_operator lines.map(&:length).max, :<=, 80
    assert_match(/^requests +1,234\/s .*█$/, lines[2])
    [
      "NeverBlock 2.0.9  running", "open 512 of 10,000", "running 29, queued 2", "p99", "executor",
      "80.1 MB resident", "q quits  Tab: requests  http://127.0.0.1:9293"
    ].each do |words|
      assert(lines.any? { |line| line.include?(words) }, words)
    end
  end

  def test_a_smaller_screen_shows_the_first_lines_and_says_how_many_are_left_out
    (1..30).each do |rows|
      assert_operator text(dashboard(document).screen(rows, 40)).size, :<=, rows
    end
    lines = text(dashboard(document).screen(10, 80))
    assert_equal 10, lines.size
    assert_match(/\A10 more lines/, lines[-2])
    narrow = dashboard(document).screen(24, 3)
    assert(narrow.all? { |spans| spans.sum { |part, _| part.length } <= 3 })
  end

  def test_an_executor_that_holds_its_fibers_up_is_marked
    spans = dashboard(document(executors: BUSY)).screen(40, 100).flatten(1)
    marked = spans.select { |_, style| style == :bad }.map(&:first)
    assert_equal 1, marked.size
    assert_match(/\A1 +7 .* ! 2\.50 s\z/, marked.first)
    assert_match(/, executor 1 busy for 2\.50 s\z/, dashboard(document(executors: BUSY)).line)
  end

  POOLS = [
    { "worker" => 0, "kind" => "sequel", "name" => "shop", "size" => 5, "in_use" => 5,
      "waiting" => 3, "would_do" => 9,
      "last_minute" => { "demand_max" => 9, "acquired" => 62, "waited" => 38,
                         "waited_s" => 4.56 } },
    { "worker" => 0, "kind" => "fibers", "name" => "a.rb:1", "size" => 5, "in_use" => 1,
      "waiting" => 0, "last_minute" => { "demand_max" => 1 } },
    { "worker" => 0, "kind" => "sequel", "name" => "idle", "size" => 5, "in_use" => 0,
      "waiting" => 0, "last_minute" => { "demand_max" => 0 } }
  ].freeze

  def test_pools_that_somebody_wants_are_shown_and_a_waiter_is_marked
    spans = dashboard(document(pools: POOLS)).screen(40, 100).flatten(1)
    assert_equal [:warning], spans.select { |text, _| text.start_with?("shop ") }.map(&:last)
    assert_equal [nil], spans.select { |text, _| text.start_with?("a.rb:1 ") }.map(&:last)
    assert_match(/ 5 of 5 +3 +9 +61 % +120 ms +9\z/, spans.map(&:first).grep(/^shop/).first)
    assert_empty spans.map(&:first).grep(/^idle/)
  end

  def test_a_server_that_is_gone_is_said_so_below_what_was_last_known
    lines = dashboard(document).screen(24, 200, problem: "no answer from X")
    assert_equal [" trying again: no answer from X ", :bad], lines.last.first
    assert_match(/running/, text(lines).first)
    assert_equal "http://127.0.0.1:9293: no answer from X",
                 dashboard(document).line(problem: "no answer from X")
  end

  def test_a_line_for_a_pipe
    later = document(uptime_s: 7_981.5, requests: { total: 1_235_567 })
    figures = %r{requests 1,000/s, running 29, .* p99 51\.2 ms, memory 80\.1 MB}
    assert_match(/\Arunning up 2 h 13 min: #{figures}\z/, dashboard(document, later).line)
  end

  def test_no_document_breaks_it
    assert_includes 10..24, dashboard(Document.new({})).screen(24, 80).size
    Figures::DOCUMENT.each_key do |name|
      [nil, 7, "x", [], {}, [nil, 1, {}], { "p50" => "x", "run" => [] }, true].each do |value|
        odd = Document.new(Figures::DOCUMENT.merge(name => value))
        assert_kind_of String, dashboard(odd, odd).line
        assert_kind_of Array, dashboard(document, odd).screen(24, 80)
      end
    end
  end
end
