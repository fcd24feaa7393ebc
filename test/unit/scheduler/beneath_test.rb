# frozen_string_literal: true

require_relative "../../support/scheduler_harness"

# A scheduler beneath another one, which has its turns run: what `scheduler :async` is built on
# (scheduler/beneath.c). The one above has no more than these tests need; Async's own is in
# test/integration/scheduler_async_test.rb.
class SchedulerBeneathTest < Minitest::Test
  class Top
    include NeverBlock::Scheduler::Above

    HOOKS = %i[block unblock kernel_sleep io_wait fiber].freeze
    HOOKS.each do |name|
      define_method(name) { |*arguments, &block| @neverblock.public_send(name, *arguments, &block) }
    end

    def initialize(neverblock)
      @neverblock = neverblock
    end

    def scheduler_close; end

    def raise(fiber, *arguments)
      @neverblock.raise_to(fiber, *arguments)
    end
  end

  # What has a #transfer of its own, as Async's nodes have.
  Item = Struct.new(:fiber) do
    def transfer(*values) = fiber.transfer(*values)
  end

  # Runs turns until the block's fibers have ended.
  # @yieldparam loop [NeverBlock::Scheduler]
  # @return [Array] what the block has put into its second parameter
  def beneath
    log = []
    Thread.new do
      neverblock = NeverBlock::Scheduler.new
      Fiber.set_scheduler(top = Top.new(neverblock))
      neverblock.host(top) do
        fibers = yield(neverblock, log)
        neverblock.turn(nil, false) while fibers.any?(&:alive?)
      end
    ensure
      Fiber.set_scheduler(nil)
    end.join
    log
  end

  def test_hooks_and_waits_of_the_one_above_are_in_one_loop
    found = beneath do |neverblock, log|
      waiting = Fiber.schedule { log << neverblock.transfer }
      [waiting, Fiber.schedule do
        sleep(0.001)
        neverblock.go_to(waiting, :value)
        log << :after
      end]
    end
    assert_equal %i[value after], found
  end

  def test_ours_is_found_beneath_the_one_above
    found = beneath do |neverblock, log|
      [Fiber.schedule do
        log << NeverBlock::Compat.scheduler.equal?(neverblock) << Fiber.scheduler.class
        log << NeverBlock::Scheduler.root.equal?(Fiber.current) << neverblock.inside?
      end]
    end
    assert_equal [true, Top, true, true], found
  end

  def test_a_wake_ends_a_sleep_and_a_transfer_and_nothing_else
    reader, writer = IO.pipe
    found = beneath do |neverblock, log|
      fibers = [Fiber.schedule { sleep }, Fiber.schedule { neverblock.transfer },
                Fiber.schedule { reader.wait_readable }]
      log.concat(fibers.map { |fiber| neverblock.wake(fiber) })
      log << neverblock.wake(Fiber.current)
      writer.write("x")
      fibers
    end
    assert_equal [true, true, false, nil], found
  ensure
    [reader, writer].each(&:close)
  end

  def test_a_transfer_from_the_loop_is_a_wake_and_brings_its_value
    found = beneath do |neverblock, log|
      waiting = Fiber.schedule { log << neverblock.transfer }
      waiting.transfer(:from_the_loop)
      log << :loop
      [waiting]
    end
    assert_equal %i[loop from_the_loop], found
  end

  def test_an_item_transfers_for_a_fiber_that_goes_on_after_the_other
    found = beneath do |neverblock, log|
      waiting = Array.new(2) { |number| Fiber.schedule { log << [number, neverblock.transfer] } }
      first, second = waiting.map { |fiber| Item.new(fiber) }
      [*waiting, Fiber.schedule do
        neverblock.relay(first, :one)
        log << :between
        neverblock.relay(second, :two)
        log << :last
      end]
    end
    assert_equal [[0, :one], :between, [1, :two], :last], found
  end

  def test_what_is_raised_is_raised_at_once_in_any_wait_that_may_be_left
    found = beneath do |neverblock, log|
      waits = [-> { neverblock.transfer }, -> { sleep }, -> { Thread::Queue.new.pop }]
      fibers = waits.each_with_index.map do |wait, number|
        Fiber.schedule do
          wait.call
        rescue ArgumentError => e
          log << [number, e.message]
        end
      end
      [*fibers, Fiber.schedule do
        log << fibers.map { |fiber| neverblock.raise_to(fiber, ArgumentError, "told") }
      end]
    end
    assert_equal [[0, "told"], [1, "told"], [2, "told"], [true, true, true]], found
  end

  # A fiber that was woken for what it waited for gets it first.
  def test_what_is_raised_into_a_fiber_that_was_woken_comes_in_its_next_wait
    found = beneath do |neverblock, log|
      queue = Thread::Queue.new
      taking = Fiber.schedule do
        log << queue.pop
        neverblock.transfer
      rescue ArgumentError => e
        log << e.message
      end
      queue.push(:taken)
      log << neverblock.raise_to(taking, ArgumentError, "later")
      [taking]
    end
    assert_equal [false, :taken, "later"], found
  end

  def test_what_is_raised_waits_for_the_end_of_a_shield
    found = beneath do |neverblock, log|
      shielded = Fiber.schedule do
        neverblock.shield { log << neverblock.transfer }
        neverblock.transfer
      rescue ArgumentError => e
        log << e.message
      end
      log << neverblock.raise_to(shielded, ArgumentError, "told")
      neverblock.go_to(shielded, :whole)
      [shielded]
    end
    assert_equal [false, :whole, "told"], found
  end

  # The fiber that has started another waits until that one waits.
  def test_a_child_may_raise_in_the_fiber_that_starts_it
    found = beneath do |neverblock, log|
      [Fiber.schedule do
        parent = Fiber.current
        Fiber.schedule do
          neverblock.raise_to(parent, ArgumentError, "by its child")
          log << :child
        end
      rescue ArgumentError => e
        log << e.message
      end]
    end
    assert_equal ["by its child", :child], found
  end

  def test_fiber_raise_in_the_loop_is_raised_in_the_wait
    found = beneath do |neverblock, log|
      waiting = Fiber.schedule do
        neverblock.transfer
      rescue ArgumentError => e
        log << e.message
        sleep(0)
        log << :waits_on
      end
      waiting.raise(ArgumentError, "by a timer")
      [waiting]
    end
    assert_equal ["by a timer", :waits_on], found
  end

  def test_a_turn_ends_at_its_time_and_at_a_rouse_of_another_thread
    found = beneath do |neverblock, log|
      log << neverblock.turn(0.001, false).class
      Thread.new { neverblock.rouse }
      log << neverblock.turn(nil, false).class
      log << neverblock.served?
      []
    end
    assert_equal [Float, Float, true], found
  end

  def test_an_error_of_a_fiber_leaves_the_turn_and_the_next_goes_on
    found = beneath do |neverblock, log|
      spoiled = Fiber.new(blocking: false) do
        sleep(0)
        raise ArgumentError, "of a fiber"
      end
      neverblock.go_to(spoiled)
      other = Fiber.schedule do
        2.times { sleep(0) }
        log << :other
      end
      begin
        neverblock.turn(nil, false) while spoiled.alive?
      rescue ArgumentError => e
        log << e.message
      end
      [other]
    end
    assert_equal ["of a fiber", :other], found
  end
end
