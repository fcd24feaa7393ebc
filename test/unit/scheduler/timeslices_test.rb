# frozen_string_literal: true

require_relative "../../support/patience"
require_relative "../../support/timeslices"
require "json"
require "monitor"
require "set"
require "timeout"
require "neverblock"

# Tests time slices: a fiber that does not wait is left where it is, whatever it is in, and goes on
# as if nothing had been.
class SchedulerTimeslicesTest < Minitest::Test
  include Timeslices

  def test_a_fiber_that_never_waits_lets_one_run_that_is_ready
    done = false
    in_timeslices do
      fiber { sleep(0) && (nil until done) }
      fiber { sleep(0) && done = true }
    end
    assert done
  end

  # Ruby looks for interrupts inside of our part of the call mostly, where no slice ends.
  def test_a_fiber_that_calls_a_method_of_ours_again_and_again_lets_others_run
    rounds = 20
    missed = nil
    in_timeslices do |scheduler|
      rounds.times do
        fiber do
          done = false
          fiber { sleep(0.001) && done = true }
          File.stat("/") until done
        end
      end
      fiber { assert_raises(Timeout::Error) { Timeout.timeout(0.01) { loop { File.stat("/") } } } }
      scheduler.run
      missed = scheduler.preemptions_missed
    end
    assert_operator missed, :<, 20 * rounds
  end

  # Fibers run at once where they are scheduled.
  def test_a_fiber_that_has_scheduled_one_that_never_waits_goes_on
    done = seen = nil
    in_timeslices do
      fiber do
        fiber { fiber { nil until seen } && (nil until done) } && seen = true
        NeverBlock.all(-> { nil until done }, -> { done = true })
      end
    end
    assert done && seen
  end

  def test_a_timer_a_descriptor_a_thread_and_another_fiber_each_end_a_slice
    wakes = {
      timer: -> { sleep(0.002) },
      descriptor: -> { IO.pipe.then { |r, w| Thread.new { w << "x" } && r.read(1) } },
      thread: -> { Queue.new.then { |queue| Thread.new { queue << 1 } && queue.pop } },
      offload: -> { NeverBlock.offload { 1 } }
    }
    wakes.each do |name, wake|
      done = false
      in_timeslices do
        fiber { sleep(0) && (nil until done) }
        fiber { wake.call && done = name }
      end
      assert_equal name, done
    end
  end

  # Whatever ends their slices. A fiber that the machine lets wait for longer than a slice as its
  # turn begins writes nothing in it: then all are asked again.
  def test_fibers_that_compute_take_turns_in_the_order_in_which_they_were_left
    limit = Patience::Limit.new
    turns = order_of_turns until turns == [0, 1, 2] * 3 || limit.over?
    assert_equal [0, 1, 2] * 3, turns
  end

  def order_of_turns
    order = []
    in_timeslices do |scheduler|
      3.times do |i|
        fiber do
          sleep(0)
          order << i until scheduler.preemptions > 9
        end
      end
    end
    order.chunk_while { |one, other| one == other }.map(&:first).first(9)
  end

  # Ruby's collections are counted by what the processor does for them, so here too. A slice is half
  # of a collection, so that one which counts always ends it. The other half is what a machine may
  # take for others meanwhile: one that takes more is asked again.
  def test_a_collection_in_one_that_others_wait_for_does_not_end_its_slice
    heap = Array.new(4_000_000) { +"" }
    slice_ms = Array.new(3) { collection_ms }.min / 2
    limit = Patience::Limit.new
    first = first_beside_a_collection(slice_ms) until first == :collects || limit.over?
    assert_equal :collects, first
    assert_equal 4_000_000, heap.size
  end

  def first_beside_a_collection(slice_ms)
    order = []
    in_timeslices do |scheduler|
      fiber { sleep(0) && be_preempted && order << :computes }
      fiber do
        sleep(0)
        scheduler.slice_ms = slice_ms
        GC.start
        order << :collects
      end
    end
    order.first
  end

  def collection_ms
    began = GC.stat(:time)
    GC.start
    GC.stat(:time) - began
  end

  def begin_or_end(slice_ms)
    Fiber.scheduler.slice_ms = slice_ms
    Thread.pass
  end

  # The last to end them ends the helper that raises limits, while the next makes another. This hung
  # within some hundred rounds where both waited by one flag.
  def test_they_begin_in_a_thread_while_they_end_in_another
    threads = Array.new(3) do
      Thread.new do
        NB.run { 2000.times { [1, nil].each { |ms| begin_or_end(ms) } } }
        :ended
      end
    end
    assert_equal %i[ended ended ended], threads.map(&:value)
  end

  def test_one_that_computes_alone_is_left_by_nobody
    in_timeslices do |scheduler|
      fiber do
        sleep(0)
        looked = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > looked + 0.02
        assert_equal 0, scheduler.preemptions
      end
    end
  end

  # The loop has a poller from its first sleep on.
  def test_while_nobody_waits_it_is_quiet_until_the_fiber_has_given_another_something_to_do
    in_timeslices do |scheduler|
      queue = Queue.new
      got = nil
      fiber { got = queue.pop }
      fiber do
        sleep(0.001)
        nil until scheduler.quiet?
        # Left here, it might go on when the other has nothing to do any more.
        NeverBlock.uninterrupted do
          queue << 1
          refute_predicate scheduler, :quiet?
        end
        nil until got
      end
    end
  end

  # Until then it gets quiet again as soon as a job has seen the timer. That may come before the
  # look here, but not each time.
  def test_it_is_quiet_no_longer_than_to_the_next_timer_be_it_the_fibers_own
    in_timeslices do |scheduler|
      fiber do
        sleep(0.001)
        ended = (1..50).any? do
          nil until scheduler.quiet?
          Timeout.timeout(60) { !scheduler.quiet? }
        end
        assert ended
      end
    end
  end

  # What lies in the poller's hands when it gets quiet is not lost, nor what comes right after.
  def test_of_what_comes_around_the_time_it_gets_quiet_nothing_is_lost
    rounds = 200
    seen = 0
    in_timeslices do |scheduler|
      reader, writer = IO.pipe
      fiber { seen += 1 while reader.read(1) }
      fiber do
        sleep(0.001)
        rounds.times do |round|
          nil until scheduler.quiet? || round.odd?
          writer << "x"
          nil until seen > round
        end
        writer.close
      end
    end
    assert_equal rounds, seen
  end

  def test_it_is_quiet_again_when_one_that_was_left_goes_on_alone
    in_timeslices do |scheduler|
      fiber do
        sleep(0.001)
        3.times { be_preempted && (nil until scheduler.quiet?) }
      end
    end
  end

  def test_without_slices_there_are_none
    in_scheduler do
      scheduler = Fiber.scheduler
      assert_nil scheduler.slice_ms
      assert_equal [false, 0, 0],
                   [scheduler.end_timeslice, scheduler.preemptions, scheduler.preemptions_missed]
      assert_equal 5, NB.uninterrupted { 5 }
      scheduler.slice_ms = 7
      assert_equal 7, scheduler.slice_ms
      scheduler.slice_ms = nil
      assert_nil scheduler.slice_ms
      [0, -1, 60_001].each do |odd|
        error = assert_raises(ArgumentError) { scheduler.slice_ms = odd }
        assert_includes error.message, "1 to 60000"
      end
    end
    assert_equal(6, NB.uninterrupted { 6 })
    assert_raises(LocalJumpError) { NB.uninterrupted }
  end

  # What Ruby code may be in the middle of when its slice ends: a block that C calls, several levels
  # deep.
  IN_BLOCKS = {
    "sort_by" => ->(preempt) { [3, 1, 2].sort_by { |n| preempt.call || n } },
    "sort" => ->(preempt) { [3, 1, 2].sort { |a, b| preempt.call || (a <=> b) } },
    "max_by" => ->(preempt) { [3, 1, 2].max_by { |n| preempt.call || n } },
    "uniq" => ->(preempt) { [3, 3, 2].uniq { |n| preempt.call || n } },
    "group_by" => ->(preempt) { [3, 3, 2].group_by { |n| preempt.call || n.odd? } },
    "gsub" => ->(preempt) { "a-b-c".gsub(/[abc]/) { |c| preempt.call || (c + c.upcase) } },
    "scan" => ->(preempt) {
      [].tap { |all| "a1b2".scan(/[a-z]\d/) { |c| preempt.call || (all << c) } }
    },
    "a hash's default" => ->(preempt) {
      Hash.new { |hash, key| preempt.call || (hash[key] = key * 2) }
          .then { |hash| [hash[2], hash[2]] }
    },
    "each_with_object" => ->(preempt) {
      (1..3).each_with_object([]) { |n, all| preempt.call || (all << n) }
    },
    "inject" => ->(preempt) { (1..4).inject { |a, b| preempt.call || (a + b) } },
    "lazy" => ->(preempt) {
      (1..Float::INFINITY).lazy.map { |n| preempt.call || (n * 2) }
                          .select { |n| (n % 3).zero? }.first(2)
    },
    "zip" => ->(preempt) { [1, 2].each_entry.zip((3..4).each_entry) { |_| preempt.call } },
    "each_slice" => ->(preempt) { (1..5).each_slice(2).map { |slice| preempt.call || slice } },
    "catch" => ->(preempt) { catch(:out) { [1].each { |n| preempt.call || throw(:out, n) } } },
    "instance_eval" => ->(preempt) { "abc".instance_eval { preempt.call || size } },
    "method_missing" => ->(preempt) {
      Class.new { define_method(:method_missing) { |name, *| preempt.call || name } }.new
           .then { |o| [o.a, o.b] }
    },
    "Comparable" => ->(preempt) {
      Struct.new(:n) { include Comparable }
            .tap { |s| s.define_method(:<=>) { |o| preempt.call || (n <=> o.n) } }
            .then { |s| s.new(1) < s.new(2) }
    },
    "JSON" => ->(preempt) {
      JSON.generate([Class.new { define_method(:to_json) { |*| preempt.call || "7" } }.new])
    },
    "a string's %" => ->(preempt) {
      format("%s!", Class.new { define_method(:to_s) { preempt.call || "7" } }.new)
    },
    "coerce" => ->(preempt) {
      1 + Class.new { define_method(:coerce) { |other| preempt.call || [other, 5] } }.new
    },
    "a Struct's each" => ->(preempt) {
      Struct.new(:a, :b).new(1, 2).each { |n| preempt.call || n }.to_a
    },
    "Set" => ->(preempt) { Set.new([1, 2]).map { |n| preempt.call || n }.to_set.size },
    "define_finalizer" => ->(preempt) {
      2.times { ObjectSpace.define_finalizer(+"x", proc {}) }.then { preempt.call || 1 }
    }
  }.freeze

  def test_what_c_calls_back_goes_on_as_if_nothing_had_been
    IN_BLOCKS.each do |name, work|
      expected = work.call(-> {})
      found = Array.new(2)
      in_timeslices do |scheduler|
        2.times { |i| fiber { sleep(0) && found[i] = work.call(-> { !be_preempted }) } }
        fiber { sleep(0) } # somebody else
        scheduler
      end
      found.each do |value|
        expected.nil? ? assert_nil(value, name) : assert_equal(expected, value, name)
      end
    end
  end

  def test_a_mutex_held_by_a_fiber_that_was_left_keeps_others_out
    mutex = Mutex.new
    inside = 0
    all = []
    in_timeslices do
      5.times do |i|
        fiber do
          sleep(0)
          mutex.synchronize do
            assert_equal 1, inside += 1
            be_preempted
            all << i
            inside -= 1
          end
        end
      end
    end
    assert_equal [0, 1, 2, 3, 4], all
    refute_predicate mutex, :locked?
  end

  def test_so_does_a_monitor_which_its_fiber_enters_again
    monitor = Monitor.new
    inside = 0
    in_timeslices do
      4.times do
        fiber do
          sleep(0)
          monitor.synchronize do
            be_preempted
            monitor.synchronize { assert_equal 1, inside += 1 }
            be_preempted
            inside -= 1
          end
        end
      end
    end
    assert_equal 0, inside
  end

  def test_a_condition_variable_loses_no_signal_beside_fibers_that_are_left
    mutex = Mutex.new
    changed = ConditionVariable.new
    items = []
    taken = []
    in_timeslices do
      3.times do
        fiber do
          mutex.synchronize do
            be_preempted
            changed.wait(mutex) while items.empty?
            be_preempted
            taken << items.shift
          end
        end
      end
      fiber do
        3.times do |i|
          mutex.synchronize do
            items << i
            be_preempted
            changed.signal
            be_preempted
          end
        end
      end
    end
    assert_equal [0, 1, 2], taken.sort
  end

  def test_queues_lose_nothing
    queue = SizedQueue.new(2)
    taken = []
    in_timeslices do
      2.times { |i| fiber { 10.times { |n| queue.push((i * 10) + n) && be_preempted } } }
      2.times { fiber { 10.times { taken << queue.pop && be_preempted } } }
    end
    assert_equal (0..19).to_a, taken.sort
  end

  def test_ensure_rescue_and_what_a_block_returns_are_as_ever
    steps = []
    found = nil
    work = lambda do
      be_preempted
      raise IOError, "x"
    rescue IOError => e
      be_preempted
      assert_same e, $!
      steps << e.message
      7
    ensure
      be_preempted
      steps << :ensure
    end
    in_timeslices do
      fiber { sleep(0) && found = work.call }
      fiber { sleep(0) && assert_nil($!) }
    end
    assert_equal [7, ["x", :ensure]], [found, steps]
  end

  # `$~` belongs to a method's call. (Blocks of one call share it, among fibers as among threads.)
  def test_fiber_locals_and_match_data_stay_the_fibers
    in_timeslices { 4.times { |i| fiber { sleep(0) && match(i) } } }
  end

  def match(number)
    Thread.current[:slices] = number
    assert_match(/\d/, "n#{number}")
    "n#{number}" =~ /\d/
    be_preempted
    assert_equal [number, number.to_s, "n#{number}"], [Thread.current[:slices], $~[0], $~.string]
    replaced = "a-b".gsub(/[ab]/) { be_preempted && ($~[0] * 2) }
    assert_equal "aa-bb", replaced
  end

  # --- interruptions ---

  def test_a_timeout_that_is_over_is_raised_in_a_fiber_that_computes
    steps = []
    in_timeslices do
      fiber do
        sleep(0)
        Timeout.timeout(0.002) do
          looked = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          be_preempted until Process.clock_gettime(Process::CLOCK_MONOTONIC) > looked + 30
          steps << :computed
        end
      rescue Timeout::Error
        steps << :late
      end
    end
    assert_equal %i[late], steps
  end

  # Ruby takes what was raised and the next job together, and runs the job first.
  def test_what_is_raised_in_one_that_computes_is_its_own_though_its_slice_ends_again_at_once
    late = Array.new(4, 0)
    running = late.size
    in_timeslices do |scheduler|
      asker = Thread.new { scheduler.end_timeslice && Thread.pass while running.positive? }
      late.each_index do |number|
        fiber do
          sleep(0)
          20.times do
            Timeout.timeout(0.001) { loop { (1..2_000).sum { |n| n } } }
          rescue Timeout::Error
            late[number] += 1
          end
          running -= 1
        end
      end
      fiber { asker.join }
    end
    assert_equal [[20] * 4, 0], [late, running]
  end

  # Another interrupt comes before what a limit raises, and nobody waits whose turn would end the
  # slice once more.
  def test_a_limit_ends_one_that_computes_though_another_interrupt_came_first
    late = 0
    in_timeslices do
      thread = Thread.current
      over = false
      waker = Thread.new { thread.wakeup && sleep(0.0003) until over }
      fiber do
        20.times do
          limit = Patience::Limit.new(20)
          Timeout.timeout(0.01) { nil until limit.over? }
        rescue Timeout::Error
          late += 1
        end
        over = true
        waker.join
      end
    end
    assert_equal 20, late
  end

  def test_what_is_raised_into_a_fiber_that_was_left_comes_at_its_next_wait
    steps = []
    in_timeslices do
      waits = false
      left = fiber do
        sleep(0)
        waits = true
        be_preempted while waits
        steps << :computed
        sleep(5)
      rescue IOError => e
        steps << e.message
      end
      fiber do
        sleep(0) until waits
        left.raise(IOError, "raised")
        waits = false
      end
    end
    assert_equal [:computed, "raised"], steps
  end

  if RUBY_VERSION >= "3.3"
    def test_a_fiber_that_was_left_is_killed_at_its_next_wait
      steps = []
      in_timeslices do
        waits = false
        left = fiber do
          sleep(0)
          waits = true
          be_preempted while waits
          steps << :computed
          sleep(5)
          steps << :slept
        ensure
          steps << :ensure
        end
        fiber do
          sleep(0) until waits
          left.kill
          waits = false
        end
      end
      assert_equal %i[computed ensure], steps
    end
  end

  def test_what_is_raised_into_the_thread_ends_its_loop_though_all_its_fibers_compute
    # A StandardError would end the fiber only.
    raised = Class.new(Exception) # rubocop:disable Lint/InheritException
    ready = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.scheduler.slice_ms = 1
      2.times { Fiber.schedule { sleep(0) && loop { be_preempted && ready << 1 } } }
    end
    4.times { ready.pop }
    thread.raise(raised)
    assert_raises(raised) { thread.value }
  end

  def test_a_thread_is_killed_while_fibers_are_left
    ready = Queue.new
    thread = Thread.new do
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.scheduler.slice_ms = 1
      2.times { Fiber.schedule { sleep(0) && loop { be_preempted && ready << 1 } } }
    end
    4.times { ready.pop }
    thread.kill
    assert thread.join(SECONDS)
  end

  def test_the_scheduler_may_be_left_and_run_again_while_fibers_are_left
    Thread.new do
      scheduler = NeverBlock::Scheduler.new
      scheduler.slice_ms = 1
      Fiber.set_scheduler(scheduler)
      steps = []
      2.times { |i| Fiber.schedule { sleep(0) && be_preempted && steps << i } }
      Fiber.schedule { sleep(0) && raise(Interrupt, "x") }
      assert_raises(Interrupt) { scheduler.run }
      scheduler.run
      assert_equal [0, 1], steps.sort
    end.join
  end

  # --- memory ---

  def test_a_collection_and_a_compaction_keep_what_a_fiber_that_was_left_holds
    found = []
    in_timeslices do
      3.times do |i|
        fiber do
          sleep(0)
          text = +"text #{i}"
          be_preempted
          found << text
        end
      end
      fiber do
        sleep(0)
        GC.start
        GC.compact if GC.respond_to?(:compact)
        Array.new(1000) { +"noise" }
      end
    end
    assert_equal ["text 0", "text 1", "text 2"], found.sort
  end

  def test_under_a_stressed_collector
    found = []
    in_timeslices do
      2.times do |i|
        fiber do
          sleep(0)
          text = "x#{i}"
          GC.stress = true
          be_preempted
          GC.stress = false
          found << text
        end
      end
    end
    assert_equal %w[x0 x1], found.sort
  ensure
    GC.stress = false
  end
end
