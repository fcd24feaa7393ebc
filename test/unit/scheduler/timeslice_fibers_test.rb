# frozen_string_literal: true

require_relative "../../support/patience"
require_relative "../../support/timeslices"
require "neverblock"

# Tests time slices of fibers that other fibers resume: Enumerators, and the application's own.
class SchedulerTimesliceFibersTest < Minitest::Test
  include Timeslices

  def test_the_body_of_an_enumerator_is_left_and_goes_on_where_it_was
    all = Array.new(2) { [] }
    in_timeslices do
      2.times do |i|
        fiber do
          sleep(0)
          enumerator = Enumerator.new { |out| 3.times { |n| be_preempted && out << n } }
          3.times { all[i] << enumerator.next && be_preempted }
          assert_raises(StopIteration) { enumerator.next }
        end
      end
    end
    assert_equal [[0, 1, 2]] * 2, all
  end

  def be_preempted_and(value)
    be_preempted
    value
  end

  def test_enumerators_within_enumerators
    all = []
    in_timeslices do
      2.times do
        fiber do
          sleep(0)
          inner = Enumerator.new { |out| 2.times { |n| out << be_preempted_and(n) } }
          outer = Enumerator.new { |out| 2.times { out << be_preempted_and(inner.next) } }
          all << [outer.next, outer.next]
        end
      end
    end
    assert_equal [[0, 1]] * 2, all
  end

  def test_a_fiber_of_the_applications_own_is_left_in_the_one_that_has_resumed_it
    all = []
    in_timeslices do
      2.times do |i|
        fiber do
          sleep(0)
          own = Fiber.new(blocking: false) do |a|
            be_preempted
            b = Fiber.yield(a + 1)
            be_preempted
            b + 10
          end
          all << [i, own.resume(1), be_preempted_and(own.resume(2)), own.alive?]
        end
      end
    end
    assert_equal [[0, 2, 12], [1, 2, 12]], all.map { |found| found.first(3) }.sort
  end

  def test_fibers_that_transfer_to_each_other_too
    all = []
    in_timeslices do
      fiber do
        sleep(0)
        home = Fiber.current
        other = Fiber.new(blocking: false) do
          be_preempted
          all << :other
          home.transfer
        end
        other.transfer
        all << be_preempted_and(:home)
      end
      fiber { sleep(0) && be_preempted }
    end
    assert_equal %i[other home], all
  end

  class Own < StandardError; end

  # Blocks in which no slice ends.
  REGIONS = {
    uninterrupted: ->(&block) { NB.uninterrupted(&block) },
    mask: ->(&block) { Thread.handle_interrupt(Own => :never, &block) }
  }.freeze

  # Ways in which a fiber takes the next step of another, whose body calls `give` after each.
  STEPPED = {
    next: ->(body) {
      Enumerator.new { |out| body[-> { out << 1 }] }.then { |all| -> { all.next } }
    },
    next_values: ->(body) {
      Enumerator.new { |out| body[-> { out << 1 }] }.then { |all| -> { all.next_values } }
    },
    peek: ->(body) {
      Enumerator.new { |out| body[-> { out << 1 }] }.then { |all| -> { all.peek && all.next } }
    },
    resume: ->(body) {
      Fiber.new(blocking: false) { body[-> { Fiber.yield }] }.then { |own| -> { own.resume } }
    },
    raise: lambda do |body|
      own = Fiber.new(blocking: false) { body[method(:yield_until_raised)] }
      begun = false
      -> { begun ? own.raise(Own) : (begun = own.resume) }
    end,
    within: lambda do |body|
      inner = Enumerator.new { |out| body[-> { out << 1 }] }
      outer = Fiber.new(blocking: false) { loop { Fiber.yield(inner.next) } }
      -> { outer.resume }
    end
  }.freeze

  def self.yield_until_raised
    Fiber.yield(true)
  rescue Own
    nil
  end

  # @yield for each way to step and each region
  def each_way(ways = STEPPED)
    ways.each do |way, stepped|
      REGIONS.each do |kind, region|
        in_timeslices { fiber { sleep(0) && yield(stepped, region, [way, kind]) } }
      end
    end
  end

  def test_a_fiber_that_yields_in_a_region_leaves_who_has_resumed_it_as_it_was
    each_way do |stepped, region, name|
      stayed = []
      step = stepped[lambda do |give|
        region.call { [give.call, stayed << stays?, give.call] }
        [stayed << left?, give.call]
      end]
      3.times { [step.call, stayed << [left?]] }
      assert_equal [[true], true, [true], true, [true]], stayed, name
    end
  end

  def test_who_has_resumed_a_fiber_in_a_region_is_not_left_whatever_that_one_enters
    each_way do |stepped, region, name|
      stayed = []
      step = stepped[lambda do |give|
        stayed << stays?
        region.call { [stayed << stays?, give.call, stayed << stays?] }
        Thread.handle_interrupt(Own => :immediate) { [give.call, stayed << stays?] }
        give.call
      end]
      region.call { 3.times { [step.call, stayed << stays?] } }
      assert_equal [true] * 8, stayed << left?, name
    end
  end

  # A fiber steps another through two regions, one in the other, and is in one itself for a part of
  # the way.
  def test_regions_of_two_fibers_that_end_in_another_order_than_they_began
    each_way(STEPPED.slice(:resume)) do |stepped, region, name|
      (0..CROSSED_STEPS).to_a.combination(2) do |enters, leaves|
        crossed = Crossed.new(self, stepped, region)
        enters.times { crossed.step(false) }
        region.call { region.call { (leaves - enters).times { crossed.step(true) } } }
        (CROSSED_STEPS - leaves).times { crossed.step(false) }
        assert_empty crossed.wrong, [*name, enters, leaves]
      end
    end
  end

  CROSSED_STEPS = 5

  # Asks in both fibers at each step whether they stay.
  class Crossed
    # @return [Array] of each wrong answer, whose it is and at which step
    attr_reader :wrong

    def initialize(test, stepped, region)
      @test = test
      @wrong = []
      @number = 0
      @step = stepped[lambda do |give|
        inside(false, give)
        region.call do
          inside(true, give)
          REGIONS[:uninterrupted].call { inside(true, give) }
          inside(true, give)
        end
        inside(false, give)
      end]
    end

    # @param outer [Boolean] whether who takes it is in a region
    def step(outer)
      @number += 1
      @outer = outer
      expect(outer, :before)
      @step.call
      expect(outer, :after)
    end

    private

    def inside(region, give)
      expect(region || @outer, :within)
      give.call
    end

    def expect(stays, whose)
      @wrong << [whose, @number] unless stays ? @test.stays? : @test.left?
    end
  end

  def test_a_fiber_that_is_killed_in_a_region_is_left_alone_while_it_ends
    skip "Fiber#kill is of Ruby 3.3" unless Fiber.method_defined?(:kill)
    each_way(STEPPED.slice(:resume)) do |_, region, name|
      stayed = []
      own = Fiber.new(blocking: false) do
        Fiber.yield
      ensure
        stayed << stays?
      end
      own.resume
      region.call { own.kill && (stayed << stays?) }
      assert_equal [true, true, true], stayed << left?, name
    end
  end

  def test_what_waits_in_a_fiber_that_was_resumed_in_a_region_is_in_it_afterwards
    each_way do |stepped, region, name|
      stayed = []
      step = stepped[->(give) { stayed << sleep(0).zero? << stays? && give.call }]
      region.call { [step.call, stayed << stays?] }
      assert_equal [true, true, true, true], stayed << left?, name
    end
  end

  # Nobody goes on with what it has resumed.
  def test_a_fiber_begins_in_no_region_whatever_the_last_one_has_left
    each_way do |stepped, region, name|
      fiber { stepped[->(give) { region.call { give.call } }].call }
      fiber { assert left?, name }
      region.call { fiber { assert left?, name } }
      assert left?, name
    end
  end

  # Each looks for interrupts when it has been switched to, and then takes what it was given
  # (cont.c, fiber_switch).
  GIVEN = {
    "resume and yield" => -> {
      Fiber.new(blocking: false) { |n| loop { n = Fiber.yield(n) } }
           .then { |own| ->(n) { own.resume(n) } }
    },
    "transfer" => -> {
      Fiber.current.then { |home| Fiber.new(blocking: false) { |n| loop { n = home.transfer(n) } } }
           .then { |own| ->(n) { own.transfer(n) } }
    },
    "an enumerator's next" => -> {
      Enumerator.produce(1, &:succ).then { |all| ->(_) { all.next } }
    },
    "an enumerator's peek" => -> {
      Enumerator.produce(1, &:succ).then { |all| ->(_) { all.peek && all.next } }
    },
    "an enumerator's next over an each of C's" => -> {
      (1..Float::INFINITY).each_entry.then { |all| ->(_) { all.next } }
    },
    "an enumerator's next within one" => lambda do
      inner = Enumerator.produce(1, &:succ)
      Enumerator.new { |out| loop { out << inner.next } }.then { |all| ->(_) { all.next } }
    end,
    "what an enumerator's body raises" => lambda do
      lambda do |n|
        Enumerator.new { raise IOError, n.to_s }.next
      rescue IOError => e
        e.message.to_i
      end
    end,
    "what is raised" => lambda do
      own = Fiber.new(blocking: false) do
        Fiber.yield
      rescue IOError => e
        Fiber.yield(e.message.to_i)
        retry
      end
      own.resume
      ->(n) { own.raise(IOError, n.to_s).tap { own.resume } }
    end
  }.freeze
  PREEMPTIONS_WITH_GIFTS = 400

  def test_what_a_fiber_is_given_by_another_is_not_lost_where_a_slice_ends
    GIVEN.each do |name, make|
      lost = nil
      in_timeslices do |scheduler|
        over = false
        fiber do
          lost = lost_among_switches(scheduler, make.call)
          over = true
        end
        # A fiber that is always ready would put off by 10 ms what was preempted.
        fiber { sleep(0.001) until over }
      end
      assert_nil lost, name
    end
  end

  # The end of a slice is asked for all the time, and nearly all that is done until it comes are
  # switches.
  # @return [Integer, nil] which was lost
  def lost_among_switches(scheduler, give)
    sleep(0)
    until_preemptions = scheduler.preemptions + PREEMPTIONS_WITH_GIFTS
    number = 0
    while scheduler.preemptions < until_preemptions
      scheduler.end_timeslice
      return number if give.call(number += 1) != number
    end
  end

  # Our own enumerator's fibers give each other nothing in a switch, so few ends of its slices are
  # put off.
  def test_an_enumerator_of_ours_is_left_between_its_fibers_too
    skip "Enumerator#next is Ruby's own from 3.3 on" if RUBY_VERSION >= "3.3"
    among_switches(AMONG_SWITCHES["an enumerator"]) do |scheduler|
      assert_operator scheduler.preemptions_missed, :<, scheduler.preemptions
    end
  end

  # Nearly every question meets a switch, in which no end may come; it comes right after it. (In an
  # `each` of C's there may be none before the next switch.)
  AMONG_SWITCHES = {
    "an enumerator" => -> {
      Enumerator.new { |out| loop { out << 1 } }.then { |all| -> { all.next } }
    },
    "an enumerator within one" => lambda do
      inner = Enumerator.new { |out| loop { out << 1 } }
      Enumerator.new { |out| loop { out << (inner.next * 2) } }.then { |all| -> { all.next } }
    end,
    "an enumerator whose each is C's" => -> { [1].cycle.then { |all| -> { all.next } } },
    "a fiber of the application's own" => -> {
      Fiber.new(blocking: false) { loop { Fiber.yield(1) } }.then { |own| -> { own.resume } }
    }
  }.freeze

  def test_an_end_of_a_slice_that_meets_a_switch_comes_right_after_it
    AMONG_SWITCHES.each do |name, make|
      among_switches(make) do |scheduler|
        assert_operator scheduler.preemptions_missed, :<=, 4 * scheduler.preemptions, name
      end
    end
  end

  PREEMPTIONS_AMONG_SWITCHES = 40

  # A fiber switches and switches, as `make` says, until its slices have ended often. Then the block
  # runs.
  def among_switches(make)
    in_timeslices do |scheduler|
      over = false
      fiber do
        sleep(0)
        step = make.call
        step.call until over
      end
      fiber do
        sleep(0.001) until scheduler.preemptions >= PREEMPTIONS_AMONG_SWITCHES
        over = true
        yield scheduler
      end
    end
  end

  # Before Ruby 3.3 a hook for an event makes YJIT throw away all that it has compiled (vm_trace.c,
  # update_global_event_hook): there is no hook then. Later versions count how often that was done.
  THROWN_AWAY = {
    true => ["--yjit-stats=quiet", "RubyVM::YJIT.runtime_stats.fetch(:invalidate_everything)"],
    false => ["-rfiddle",
              "Fiddle::Pointer.new(Fiddle::Handle::DEFAULT['ruby_vm_event_enabled_global_flags'])" \
              "[0, 4].unpack1('L')"]
  }[RUBY_VERSION >= "3.3"].freeze

  def test_what_yjit_has_compiled_stays_where_an_end_of_a_slice_meets_a_switch
    skip "this Ruby has no YJIT" unless defined?(RubyVM::YJIT)

    option, count = THROWN_AWAY
    command = ["timeout", "-s", "KILL", "100", RbConfig.ruby, "-W0", "--yjit", option,
               *$LOAD_PATH.map { |path| "-I#{path}" }, "-e", <<~RUBY, { err: %i[child out] }]
                 require "neverblock/scheduler"
                 missed = 0
                 Thread.new do
                   Fiber.set_scheduler(scheduler = NeverBlock::Scheduler.new)
                   scheduler.slice_ms = 1
                   Fiber.schedule { sleep(0.001) until (missed = scheduler.preemptions_missed) >= #{REFUSALS} }
                   Fiber.schedule do
                     sleep(0)
                     own = Fiber.new(blocking: false) { loop { Fiber.yield } }
                     own.resume until missed >= #{REFUSALS}
                   end
                 end.join
                 print missed >= #{REFUSALS}, " ", #{count}
               RUBY
    assert_equal "true 0", IO.popen(command, &:read)
  end
end
