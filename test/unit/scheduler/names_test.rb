# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "socket"

# Tests address_resolve: a name parks its fiber until a thread has looked it up, and what the cache
# knows is told without a wait. The names are numbers that only inet_aton(3) reads ("127.7.9" is
# 127.7.0.9). No name server is needed, and each test has a name that nobody has asked for.
class SchedulerNamesTest < Minitest::Test
  include SchedulerHarness

  def test_a_name_lets_others_run_while_it_is_looked_up_and_none_once_it_is_known
    name, address = fresh_name
    turns = []
    in_scheduler do
      others = 0
      done = false
      fiber { (others += 1) && sleep(0) until done }
      fiber do
        2.times do
          before = others
          assert_equal [address], Fiber.scheduler.address_resolve(name)
          turns << (others - before)
        end
        done = true
      end
    end
    assert_operator turns.first, :>, 0
    assert_equal 0, turns.last
  end

  def test_a_known_name_costs_an_array_and_its_addresses
    name, = fresh_name
    in_scheduler do
      fiber do
        scheduler = Fiber.scheduler
        scheduler.address_resolve(name)
        assert_in_delta 2 * 100, objects { 100.times { scheduler.address_resolve(name) } }, 10
      end
    end
  end

  def test_answers_are_the_askers_own
    name, address = fresh_name
    in_scheduler do
      fiber do
        2.times do
          addresses = Fiber.scheduler.address_resolve(name)
          assert_equal [address], addresses
          addresses.first << "!" and addresses.clear
        end
      end
    end
  end

  def test_names_that_cannot_be_have_no_address_and_too_long_ones_are_refused
    in_scheduler do
      fiber do
        2.times do
          assert_empty Fiber.scheduler.address_resolve("")
          assert_empty Fiber.scheduler.address_resolve("local\0host")
          assert_raises(SocketError) { Fiber.scheduler.address_resolve("a" * 256) }
          assert_raises(TypeError) { Fiber.scheduler.address_resolve(nil) }
        end
      end
    end
  end

  def test_an_address_in_brackets_is_none
    in_scheduler do
      fiber { 2.times { assert_empty Fiber.scheduler.address_resolve("[::1]") } }
      fiber { 2.times { assert_equal ["::1"], Fiber.scheduler.address_resolve("::1") } }
    end
  end

  def test_fibers_that_ask_for_one_name_at_once_are_all_answered
    name, address = fresh_name
    answers = []
    in_scheduler { 50.times { fiber { answers << Fiber.scheduler.address_resolve(name) } } }
    assert_equal [[address]] * 50, answers
  end

  def test_a_fiber_may_be_ended_while_its_name_is_looked_up
    name, address = fresh_name
    in_scheduler do
      asker = fiber { assert_raises(RuntimeError) { Fiber.scheduler.address_resolve(name) } }
      fiber { asker.raise("enough") }
      fiber { assert_equal [address], Fiber.scheduler.address_resolve(name) }
    end
  end

  private

  def fresh_name
    net = rand(1..255)
    host = rand(65_536)
    ["127.#{net}.#{host}", "127.#{net}.#{host >> 8}.#{host & 255}"]
  end

  def objects
    GC.disable
    before = GC.stat(:total_allocated_objects)
    yield
    GC.stat(:total_allocated_objects) - before
  ensure
    GC.enable
  end
end
