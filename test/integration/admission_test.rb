# frozen_string_literal: true

# Requests that would only wait for a connection wait before the application. Nobody else waits
# there. The application counts who is inside.

require_relative "../support/records_case"

class AdmissionTest < RecordsCase
  POOL = 2
  INSIDE = POOL * 2 # with a connection, and in the line

  def self.server_options
    {
      options: [
        "-C", configuration, *ADMIN, *ServerProcess.one_process("a test of one process's pools")
      ],
      env: { "NB_TEST_RECORDS" => JSON.generate(pools("neverblock_", pool: POOL)) }
    }
  end

  # A client that leaves ends its request.
  def self.configuration
    @configuration ||=
      File.join(Dir.mktmpdir("neverblock-records"), "neverblock.rb").tap do |file|
        File.write(file, "cancel_on_disconnect true\n")
      end
  end

  # The first request asks the database how large the pool may be, and all that come wait for that.
  def setup
    super
    NAMES.each { |name| parsed(ask(path(name, "query", sql: "SELECT 1"))) }
  end

  def test_of_fifty_slow_requests_only_those_are_inside_that_have_a_connection_and_as_many_again
    each_database do |name, locks|
      answers = nil
      locks.closed do
        answers = slow(50, name, locks)
        await("fifty have come to #{name}") { busy?(name, 50) }

        assert_operator stat(name)["inside"]["query"], :<=, INSIDE
        assert_equal "200", ask("/").status.to_s, "others are answered meanwhile"
        assert_equal "none", parsed(ask(path(name, "maybe")))
      end

      assert_equal (0...50).map(&:to_s), answers.map(&:value), name
      assert_idle(name)
    end
  end

  def test_while_any_of_a_class_are_held_more_of_it_have_no_fiber
    each_database do |name, locks|
      answers = nil
      locks.closed do
        answers = slow(INSIDE + 1, name, locks)
        await("one is held") { busy?(name, INSIDE + 1) }
        answers += ask_at_once(20, name, "query") do |number|
          { sql: "SELECT '#{INSIDE + 1 + number}'" }
        end
        await("twenty more have come") { busy?(name, INSIDE + 21) }

        assert_equal [20, INSIDE + 1], requests.values_at("queued", "running")
        assert_equal "none", parsed(ask(path(name, "maybe"))), "others pass them"
      end

      assert_equal (0...(INSIDE + 21)).map(&:to_s), answers.map(&:value), name
      await("those whose answers have arrived are through") do
        requests.values_at("queued", "running") == [0, 0]
      end
    end
  end

  def test_they_go_in_first_come_first_served
    locked("pg") do |locks|
      before = stat("pg")["came"].size
      answers = Array.new(20) do |number|
        asked = ask_at_once(1, "pg", "query") { { number: number, sql: locks.sql(number) } }
        await("#{number} has come") { busy?("pg", number + 1) }
        asked.first
      end
      locks.open

      assert_equal (0...20).map(&:to_s), answers.map(&:value)
      assert_equal (0...20).map(&:to_s), stat("pg")["came"].drop(before)
    end
  end

  def test_who_leaves_while_he_is_held_holds_nothing_up
    locked("pg") do |locks|
      answers = slow(INSIDE, "pg", locks)
      await("the line is full") { busy?("pg", INSIDE) }
      gone = Array.new(3) do
        Wire::Client.new(server.url).tap do |client|
          client.write(request(path("pg", "query", sql: "SELECT 'gone'")))
        end
      end
      await("three are held") { busy?("pg", INSIDE + 3) }
      last = ask_at_once(1, "pg", "query") { { sql: "SELECT 'last'" } }.first
      await("so is another") { busy?("pg", INSIDE + 4) }
      gone.each(&:close)
      await("they have left") { busy?("pg", INSIDE + 1) }

      assert_equal INSIDE, stat("pg")["inside"]["query"]
      locks.open

      assert_equal [*0...INSIDE].map(&:to_s) + ["last"], [*answers, last].map(&:value)
      assert_idle("pg")
    end
  end

  def test_requests_that_need_no_connection_this_time_keep_nobody_waiting
    parsed(ask(path("pg", "maybe", sql: "SELECT 1"))) # their class has used the pool
    locked("pg") do |locks|
      slow = slow(INSIDE, "pg", locks)
      await("the line is full") { busy?("pg", INSIDE) }
      maybe = ask_at_once(20, "pg", "maybe") { {} }
      await("they are held") { busy?("pg", INSIDE + 20) }

      assert_equal 0, stat("pg")["inside"].fetch("maybe", 0)
      locks.open

      assert_equal ["none"] * 20, maybe.map(&:value)
      assert_equal [*0...INSIDE].map(&:to_s), slow.map(&:value)
    end
  end

  def test_requests_that_fail_keep_nobody_waiting
    locked("pg") do |locks|
      failing = Array.new(10) do |number|
        Thread.new { ask(path("pg", "fails", sql: locks.sql(number))).status }
      end
      await("ten have come") { busy?("pg", 10) }
      assert_operator stat("pg")["inside"]["fails"], :<=, INSIDE
      locks.open

      assert_equal [500] * 10, failing.map(&:value)
      assert_idle("pg")
    end
  end

  # They hold a connection of PostgreSQL and wait for one of MariaDB, while the wait queues and the
  # gates of both are full.
  def test_requests_that_hold_a_connection_of_one_pool_and_wait_for_another_are_answered
    locked("mysql2") do |locks|
      nested = ask_at_once(20, "pg", "nested") do |number|
        { other: "mysql2", sql: locks.sql(number) }
      end
      await("two have a connection of each") do
        %w[pg mysql2].all? { |name| stat(name)["busy"] == POOL }
      end
      mysql = slow(20, "mysql2", locks)
      pg = ask_at_once(20, "pg", "query") { |number| { sql: "SELECT '#{number}'" } }
      await("they have come") { requests.values_at("queued", "running").sum == 60 }
      locks.open

      [nested, mysql, pg].each { |answers| assert_equal (0...20).map(&:to_s), answers.map(&:value) }
      %w[pg mysql2].each { |name| assert_idle(name) }
    end
  end

  private

  def locked(name)
    locks = Locks.new(name)
    locks.closed { yield locks }
  ensure
    locks&.close
  end

  # @return [Array<Thread>] whose queries wait at the gate
  def slow(count, name, locks)
    ask_at_once(count, name, "query") { |number| { sql: locks.sql(number) } }
  end

  # So many requests have a connection or wait for one, be it in the loop's queue.
  def busy?(name, count)
    busy, waiting = stat(name).values_at("busy", "waiting")
    [busy, waiting + requests["queued"]] == [[POOL, count].min, [count - POOL, 0].max]
  end

  def assert_idle(name)
    inside = stat(name)["inside"].values.sum
    assert_equal [0, 0, 0], [*stat(name).values_at("busy", "waiting"), inside - 1],
                 "but for who asks"
  end
end

# A pool out of which nothing comes back: those who are held are told so as the others are.
class AdmissionStandstillTest < RecordsCase
  POOL = 2

  def self.server_options
    {
      options: ServerProcess.one_process("a test of one process's pools"),
      env: {
        "NB_TEST_RECORDS" => JSON.generate(pools("neverblock_", pool: POOL, checkout_timeout: 1))
      }
    }
  end

  def test_nobody_waits_for_ever_before_a_line_that_stands_still
    locks = Locks.new("pg")
    locks.closed do
      parsed(ask(path("pg", "query", sql: "SELECT 1")))
      holders = ask_at_once(POOL, "pg", "query") { |number| { sql: locks.sql(number) } }
      await("the pool is in use") { locks.waiting == POOL }
      others = Array.new(30) { Thread.new { ask(path("pg", "query", sql: "SELECT 1")).status } }

      assert_equal [500] * 30, others.map(&:value)
      assert_operator stat("pg")["peaks"]["query"], :>, POOL * 2,
                      "when the first had been told, the others were let in, to be told together"
      locks.open
      assert_equal [*0...POOL].map(&:to_s), holders.map(&:value)
    end
  ensure
    locks&.close
  end
end
