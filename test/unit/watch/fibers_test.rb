# frozen_string_literal: true

require_relative "watch_case"
require "neverblock/watch/fibers"
require "neverblock/watch/fiber_table"

class WatchFibersTest < WatchCase
  # A client that gives these documents, one after the other, and then the last again.
  class Answers
    attr_reader :asked

    def initialize(*documents)
      @documents = documents
      @asked = []
    end

    def fetch(target)
      @asked << target
      JSON.generate(@documents.size > 1 ? @documents.shift : @documents.first)
    end
  end

  def fibers(**changes)
    Fibers.new(JSON.generate(Figures::FIBERS.merge(changes.transform_keys(&:to_s))))
  end

  def row(**values)
    FiberRow.new(Document.new(JSON.parse(JSON.generate(values))))
  end

  # A table with backtraces, where the executors are these.
  def traced(*executors)
    shown = fibers(executors: executors)
    FiberTable.new(shown, shown.rows, backtrace: true).to_s
  end

  def waits(**values)
    row(state: "waiting", waits_for: values).doing
  end

  def test_each_kind_of_wait_has_its_words
    {
      { kind: "database", driver: "pg", address: "10.0.0.5:5432" } => "pg 10.0.0.5:5432",
      { kind: "database" } => "a database",
      { kind: "http", address: "10.0.0.9:443" } => "HTTP 10.0.0.9:443",
      { kind: "http" } => "HTTP (it connects)",
      { kind: "io", address: "10.0.0.9:25" } => "10.0.0.9:25",
      { kind: "io", descriptor: 7 } => "descriptor 7",
      { kind: "file", descriptor: 7 } => "a file (descriptor 7)",
      { kind: "dns", name: "example.org" } => "the address of example.org",
      { kind: "sleep", left_s: 7 } => "the end of its sleep, in 7.00 s",
      { kind: "sleep" } => "a wake (sleep without end)",
      { kind: "lock", holder: { method: "GET", path: "/a" } } => "a lock, which GET /a holds",
      { kind: "lock" } => "a lock",
      { kind: "process", process: 12 } => "process 12",
      { kind: "pool" } => "its turn at a pool",
      { kind: "pool", name: "shop (5 of 5 in use)" } => "a place in the pool shop (5 of 5 in use)",
      { kind: "client" } => "the client, which reads slowly",
      { kind: "coffee" } => "coffee"
    }.each { |wait, words| assert_equal "waits for #{words}", waits(**wait) }
  end

  def test_what_runs_is_told_with_its_stall
    assert_equal "runs", row(state: "running").doing
    assert_equal "stalls in a C call", row(state: "running", stalls_in: "c_call").doing
    assert_equal "stalls in a call that nobody can name",
                 row(state: "running", stalls_in: "unknown").doing
    assert_equal "ready to run", row(state: "ready").doing
    assert_equal "?", row.doing
  end

  def test_whose_fiber_it_is
    rows = fibers.rows
    assert_equal ["GET /orders/7?x=1", "POST /pay", "GET /all (a fiber of it)", "(no request)"],
                 rows.map(&:request)
    assert_equal ["0", "1", "1 lane 2", "1 spare"], rows.map(&:place)
  end

  def test_a_table_with_backtraces
    shown = fibers
    text = FiberTable.new(shown, shown.rows, backtrace: true).to_s
    assert text.start_with?("4 fibers: 1 running, 1 ready, 2 waiting (1 database, 1 sleep)\n\nreq")
    line = text.lines.find { |one| one.start_with?("GET /orders/7?x=1 ") }
    assert_match(/12\.5 s +2\.00 ms +12\.4 s +0  waits for pg 10\.0\.0\.5:5432  +app/, line)
    assert_includes text, "GET /orders/7?x=1 a1, waits for pg 10.0.0.5:5432; " \
                          "backtrace of 100 ms ago\n    /srv/app/models/order.rb:40:in `load'\n"
    assert_includes text, "(no backtrace: it is in the run queue)"
    assert text.end_with?("\n4 more are not shown: the oldest are\n")
  end

  def test_a_part_is_told_as_part_of_the_whole
    shown = fibers
    assert FiberTable.new(shown, shown.rows.first(1)).to_s.start_with?("1 of 4 fibers: 1 waiting")
    assert_equal "no fiber to show: none of 4 is as the options say\n\n" \
                 "4 more are not shown: the oldest are\n", FiberTable.new(shown, []).to_s
    one = fibers(fibers: Figures::FIBERS["fibers"].first(1), left_out: 0, unrecorded: 0)
    assert_equal "no fiber to show: the only one is not as the options say\n",
                 FiberTable.new(one, []).to_s
    none = fibers(fibers: [], left_out: 0, unrecorded: 0)
    assert_equal "no fiber to show\n", FiberTable.new(none, []).to_s
  end

  def test_an_executor_that_does_not_answer_is_told
    stuck = fibers(executors: [{ worker: 0, backtraces_complete: false }])
    assert_match(/an executor is stuck/, FiberTable.new(stuck, stuck.rows, backtrace: true).to_s)
    refute_match(/an executor is stuck/, FiberTable.new(stuck, stuck.rows).to_s)
  end

  def test_a_wait_without_a_backtrace_is_told_by_whether_its_executor_has_answered
    spare = { worker: 1, spare: true, backtraces_complete: true }
    kept = "(no backtrace: 256 backtraces are kept for each executor, and its own is not among " \
           "them)"
    stuck = "(no backtrace: its executor is stuck, and none was taken before)"

    assert_includes traced(spare, { worker: 1, backtraces_complete: false }), kept
    assert_includes traced({ **spare, backtraces_complete: false }), stuck
    assert_includes traced(spare, { **spare, backtraces_complete: false }), stuck
    assert_includes traced({ worker: 1, backtraces_complete: true }), stuck
  end

  def test_backtraces_are_asked_for_and_then_looked_at_until_all_have_answered
    pending = Figures::FIBERS.merge("executors" => [{ "backtraces_complete" => false }])
    client = Answers.new(pending, pending, pending, Figures::FIBERS)
    assert_empty Fibers.ask(client, limit: 9, backtrace: true, query: true).unanswered
    assert_equal ["/fibers.json?limit=9&query=1&backtrace=1",
                  *["/fibers.json?limit=9&query=1&backtrace=kept"] * 3], client.asked
  end

  def test_without_backtraces_one_question_is_enough
    client = Answers.new(Figures::FIBERS)
    assert_equal 4, Fibers.ask(client).rows.size
    assert_equal ["/fibers.json?limit=1000"], client.asked
  end
end
