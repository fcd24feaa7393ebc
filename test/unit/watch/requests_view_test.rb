# frozen_string_literal: true

require_relative "watch_case"
require "neverblock/watch/dashboard"
require "neverblock/watch/fibers"
require "neverblock/watch/requests_view"

class WatchRequestsViewTest < WatchCase
  def view(document = Figures::FIBERS)
    RequestsView.new.tap { |one| one.fibers = Fibers.new(JSON.generate(document)) }
  end

  def text(lines)
    lines.map { |spans| spans.map(&:first).join }
  end

  def many(count)
    fibers = Array.new(count) do |index|
      { "fiber" => "request", "method" => "GET", "path" => "/#{index}", "age_s" => count - index,
        "state" => "ready" }
    end
    Figures::FIBERS.merge("fibers" => fibers, "left_out" => 0, "unrecorded" => 0)
  end

  def test_the_oldest_come_first_and_a_stall_is_marked
    lines = view.lines(20)
    assert_match(/\Arequest +age \u25be/, text(lines).first)
    assert_equal ["GET /orders/7", "(no request)", "POST /pay", "GET /all"],
                 text(lines).drop(1).map { |line| line[/\A(\S+ ?[^? ]*)/] }
    marked = lines.flatten(1).select { |_, style| style == :bad }.map(&:first)
    assert_equal 1, marked.size
    assert_match(/\APOST .* stalls in a C call /, marked.first)
  end

  def test_keys_sort_by_each_column_and_reverse
    one = view
    assert_match(/s: sort by ran/, one.keys)
    assert one.press("s")
    assert_match(/ran \u25be/, text(one.lines(9)).first)
    assert_match(/\APOST/, text(one.lines(9))[1])
    one.press("r")
    assert_match(/ran \u25b4/, text(one.lines(9)).first)
    refute_match(/\APOST/, text(one.lines(9))[1])
    one.press("r")
    3.times { one.press("s") }
    assert_match(/\Arequest \u25b4/, text(one.lines(9)).first)
    assert_match(/\A\(no/, text(one.lines(9))[1])
    3.times { one.press("s") }
    assert_match(/age \u25be/, text(one.lines(9)).first)
    refute one.press("x")
  end

  def test_what_does_not_fit_is_scrolled_to
    one = view(many(30))
    assert_equal ["GET /0", "GET /1", "GET /2"], paths(one)
    assert_match(/\A1 to 3 of 30\z/, text(one.lines(5)).last)
    one.press("\e[B")
    assert_equal ["GET /1", "GET /2", "GET /3"], paths(one)
    one.press("\e[6~")
    assert_equal ["GET /4", "GET /5", "GET /6"], paths(one)
    one.press("\e[5~")
    one.press("\e[A")
    3.times { one.press("k") }
    assert_equal "GET /0", paths(one).first
    20.times { one.press("\e[6~") }
    assert_equal ["GET /27", "GET /28", "GET /29"], paths(one)
  end

  def paths(view)
    text(view.lines(5))[1..3].map { |line| line[%r{GET /\d+}] }
  end

  def test_no_request_is_said
    assert_equal ["no request is under way"], text(view(many(0)).lines(5))
    assert_equal ["what requests do is not known yet"], text(RequestsView.new.lines(5))
    assert_empty view.lines(0)
  end

  def test_the_screen_fits_with_the_figures_above
    dashboard = Dashboard.new(bind("http://127.0.0.1:9293"), Trend.new.add(document))
    one = view(many(100))
    (1..40).each do |rows|
      lines = text(dashboard.requests_screen(one, rows, 80))
      assert_operator lines.size, :<=, rows
      assert_operator lines.map(&:length).max, :<=, 80
      assert_match(/q quits/, lines.last)
    end
    lines = text(dashboard.requests_screen(one, 24, 80, problem: "gone"))
    assert_match(/running 29, queued 2/, lines[2])
    assert_match(/gone/, lines.last)
  end
end
