# frozen_string_literal: true

require_relative "../../support/timeslices"
require "ffi"
require "json"
require "neverblock"
require "nokogiri"
require "open3"
require "tempfile"
require "timeout"

# Tests where no slice ends. Each region computes until the end of one has been put off several
# times, beside a fiber that would run if it were left.
class SchedulerTimesliceRegionsTest < Minitest::Test
  include Timeslices

  # @yield in a fiber that others wait for; where it is, it has to stay
  def assert_stays(&region)
    steps = []
    in_timeslices do
      fiber do
        sleep(0)
        assert region.call, "it was left"
        steps << :region
      end
      fiber { sleep(0) && steps << :other }
    end
    assert_includes [%i[region other], %i[other region]], steps
  end

  def test_in_uninterrupted
    assert_stays { NB.uninterrupted { stays? } }
    assert_stays { NB.uninterrupted { NB.uninterrupted { nil } || stays? } }
    assert_stays { NB.uninterrupted { [1].map { stays? }.first } }
  end

  def test_in_what_uninterrupted_resumes
    assert_stays { NB.uninterrupted { Enumerator.new { |out| out << stays? }.next } }
    assert_stays { NB.uninterrupted { Fiber.new(blocking: false) { stays? }.resume } }
  end

  def test_after_uninterrupted_however_it_was_left_slices_end_again
    in_timeslices do
      fiber do
        sleep(0)
        assert_equal 3, NB.uninterrupted { 3 }
        be_preempted
        assert_raises(IOError) { NB.uninterrupted { raise IOError } }
        be_preempted
        assert_equal 4, catch(:out) { NB.uninterrupted { throw :out, 4 } }
        be_preempted
        [1].each { NB.uninterrupted { break } }
        be_preempted
      end
      fiber { sleep(0) }
    end
  end

  # A wait in it switches, and the others' slices end meanwhile; when it goes on it stays again.
  def test_uninterrupted_belongs_to_its_fiber
    in_timeslices do
      waits = false
      fiber do
        sleep(0)
        NB.uninterrupted do
          waits = true
          sleep(0) while waits
          assert stays?
        end
        be_preempted
      end
      fiber do
        sleep(0) until waits
        be_preempted
        waits = false
      end
    end
  end

  def test_in_handle_interrupt_that_puts_interrupts_off
    assert_stays { Thread.handle_interrupt(Object => :never) { stays? } }
    assert_stays do
      Thread.handle_interrupt(RuntimeError => :on_blocking, IOError => :immediate) { stays? }
    end
    assert_stays do
      Thread.handle_interrupt(Object => :never) { Enumerator.new { |out| out << stays? }.next }
    end
  end

  def test_where_handle_interrupt_lets_them_in_again_slices_end
    in_timeslices do
      2.times do
        fiber do
          sleep(0)
          Thread.handle_interrupt(Exception => :never) do
            assert stays?
            Thread.handle_interrupt(Exception => :immediate) { be_preempted }
            assert stays?
          end
          be_preempted
        end
      end
    end
  end

  def test_not_in_handle_interrupt_in_uninterrupted
    assert_stays do
      NB.uninterrupted { Thread.handle_interrupt(Exception => :immediate) { stays? } }
    end
  end

  def test_in_a_blocking_fiber_whose_waits_no_hook_sees
    assert_stays { NeverBlock::Compat.blocking { stays? } }
    assert_stays { Fiber.blocking { stays? } } if Fiber.respond_to?(:blocking)
  end

  # By the library their code lies in; ffi's functions lie in none.
  def test_in_what_a_gems_c_function_calls
    assert_stays { in_libxml { stays? } }
    assert_stays { in_qsort { stays? } }
    assert_stays { in_qsort { [3].each { @stayed = stays? } } && @stayed }
  end

  def test_but_in_what_one_calls_that_is_known_to_allow_it_and_in_what_rubys_own_call
    in_timeslices do
      2.times { fiber { sleep(0) && in_json { be_preempted } } }
      2.times { fiber { sleep(0) && [2, 1].sort_by { be_preempted } } }
    end
  end

  def test_waits_above_one_that_keeps_something_for_its_thread_hold_the_thread
    %i[in_libxml in_qsort].each do |callback|
      steps = []
      in_timeslices do
        fiber { sleep(0) && send(callback) { steps << :begun && sleep(0.01) && steps << :ended } }
        fiber { sleep(0.005) && steps << :other }
      end
      assert_equal %i[begun ended other], steps.uniq
    end
  end

  # Ways in which the block runs in a fiber that is resumed in the callback, where its own frames
  # tell nothing. It runs as an element is looked at or taken, or before the first one; in an
  # Enumerator that was begun before; in a Fiber; or in an Enumerator within a Fiber.
  # rubocop:disable Style/RescueModifier -- what is raised is a part of the answer
  RESUMED = {
    next: ->(body) { -> { Enumerator.new { |out| out << body.call }.next } },
    peek: ->(body) {
      -> {
        Enumerator.new { |out| out << body.call }.then { |one| [one.peek, one.next].uniq.first }
      }
    },
    values: ->(body) {
      -> {
        Enumerator.new { |out| out.yield(body.call, 2) }
                  .then { |one| [one.peek_values, one.next_values].uniq.first.first }
      }
    },
    begun: lambda do |body|
      one = Enumerator.new { |out| (out << 1) && out << body.call }
      one.next
      -> { one.next }
    end,
    ended: ->(body) {
      -> {
        Enumerator.new { |_out| body.call }.then { |one| one.size || one.next rescue $!.result }
      }
    },
    fiber: ->(body) { -> { Fiber.new { body.call }.resume } },
    fed: ->(body) {
      -> {
        Fiber.new { |first, and_more:| first + and_more + (body.call ? 0 : 1) }
             .resume(1, and_more: 2) == 3
      }
    },
    within: ->(body) { -> { Fiber.new { Enumerator.new { |out| out << body.call }.next }.resume } },
    failing: ->(body) {
      -> { Fiber.new { body.call and raise IOError }.resume rescue $!.is_a?(IOError) }
    }
  }.freeze
  # rubocop:enable Style/RescueModifier

  RESUMED.each do |way, made|
    define_method("test_in_a_fiber_resumed_in_what_a_gems_c_function_calls_#{way}") do
      assert_stays { in_libxml(&made[-> { stays? }]) }
      assert_stays { in_qsort(&made[-> { stays? }]) }
    end

    define_method("test_waits_in_a_fiber_resumed_above_one_that_keeps_something_for_its_thread_" \
                  "hold_it_#{way}") do
      %i[in_libxml in_qsort].each do |callback|
        steps = []
        in_timeslices do
          body = made[-> { steps << :begun && sleep(0.01) && steps << :ended }]
          fiber { sleep(0) && send(callback, &body) && (steps << :answered) }
          fiber { sleep(0.005) && steps << :other }
        end
        assert_equal %i[begun ended answered other], steps
      end
    end

    define_method("test_but_in_a_fiber_resumed_where_none_is_#{way}") do
      in_timeslices do
        body = -> { be_preempted && (sleep(0.001) || true) }
        2.times { fiber { sleep(0) && made[body].call.then { |answer| assert answer } } }
        2.times { fiber { sleep(0) && in_json(&made[body]) } }
      end
    end
  end

  # Who has resumed it does not look any more.
  def test_a_fiber_that_was_resumed_in_a_callback_and_is_gone_on_with_outside_of_it
    in_timeslices do
      fiber do
        sleep(0)
        one = Enumerator.new do |out|
          (out << stays?) && (out << be_preempted) && sleep(0.001) && out << 3
        end
        stayed = in_libxml { one.next }
        assert_equal [true, true, 3], [stayed, one.next, one.next]
      end
      fiber { sleep(0) }
    end
  end

  # Functions of C libraries that call the block once.
  module LibC
    extend FFI::Library

    ffi_lib FFI::Library::LIBC
    callback :compare, %i[pointer pointer], :int
    attach_function :qsort, %i[pointer size_t size_t compare], :void
  end

  class Element < Nokogiri::XML::SAX::Document
    def initialize(body)
      super()
      @body = body
    end

    def start_element(*) = @body.call
  end

  def in_libxml(&body)
    result = nil
    Nokogiri::XML::SAX::Parser.new(Element.new(-> { result = body.call })).parse("<a/>")
    result
  end

  def in_qsort(&body)
    result = nil
    LibC.qsort(FFI::MemoryPointer.new(:int, 2), 2, 4, ->(_, _) { (result = body.call) && 0 })
    result
  end

  def in_json(&body)
    object = Object.new
    object.define_singleton_method(:to_json) { |*| body.call && "1" }
    JSON.generate([object])
  end

  def test_in_neverblock_false
    assert_stays { NB.neverblock(false) { stays? } }
  end

  def test_in_a_file_that_is_loading_on_ruby_3_1
    skip "a load may be left from Ruby 3.2 on" if RUBY_VERSION >= "3.2"

    Tempfile.create(["region", ".rb"]) do |file|
      file.write("$slices_region = $slices_stays.call")
      file.close
      $slices_stays = -> { stays? }
      assert_stays { load(file.path) && $slices_region }
    end
  end

  # As code of ours: by its path.
  PATH_OF_OURS = File.expand_path("../../../lib/neverblock/of_a_test.rb", __dir__)
  OURS = eval("->(body) { body.call }", nil, PATH_OF_OURS, 1)
  SPINS = eval(<<~RUBY, nil, PATH_OF_OURS, 1)
    lambda do |scheduler, refusals|
      preemptions, missed = scheduler.preemptions, scheduler.preemptions_missed
      scheduler.end_timeslice
      [3].each { nil } until scheduler.preemptions_missed >= missed + refusals ||
                             scheduler.preemptions > preemptions
      scheduler.preemptions == preemptions
    end
  RUBY

  def test_in_code_of_ours_and_in_what_it_calls_of_rubys
    assert_stays { SPINS.call(Fiber.scheduler, REFUSALS) }
  end

  def test_but_in_an_applications_block_that_code_of_ours_calls
    in_timeslices do
      2.times { fiber { sleep(0) && OURS.call(-> { be_preempted }) } }
    end
  end

  # The hook's own frame is on top: an Integer is asked for in the hook, and a wait has not begun.
  def test_in_a_hook
    in_timeslices do
      mutex = Mutex.new
      changed = ConditionVariable.new
      woken = 0
      slow = Class.new(Numeric) do
        define_method(:divmod) { |_| 3.times { Fiber.scheduler.end_timeslice } && [5, 0] }
        define_method(:coerce) { |other| [other, 5] }
      end
      fiber { mutex.synchronize { changed.wait(mutex, slow.new) && woken += 1 } }
      fiber { mutex.synchronize { changed.signal } }
      fiber { sleep(0) && be_preempted }
      fiber { sleep(0) && assert_equal(1, woken) }
    end
  end

  def test_in_a_callback_of_sqlite
    require "sqlite3"
    assert_stays do
      database = SQLite3::Database.new(":memory:")
      stayed = nil
      database.create_function("region", 0) { |call| call.result = (stayed = stays?) ? 1 : 0 }
      database.execute("select region()")
      stayed
    end
  end

  # Two walks that overlap crash Ruby (gc.c, objspace_each_objects).
  def test_in_a_walk_of_the_heap
    assert_stays do
      stayed = nil
      ObjectSpace.each_object(SchedulerTimesliceRegionsTest.singleton_class) do
        stayed = stays? if stayed.nil?
      end
      stayed
    end
  end

  # Ruby 3.1 waits there as Kernel#sleep does on a thread without a scheduler (variable.c,
  # autoload_sleep). A thread that is left in it counts as asleep. It sleeps for ever when another
  # of its fibers has slept so meanwhile. Ruby 3.2 and later wait for a mutex, which parks.
  if RUBY_VERSION < "3.2"
    def test_where_the_thread_waits_for_a_constant_that_another_is_loading
      begun, go, seen, found = Queue.new, Queue.new, [], []
      loading(begun, go) do
        in_timeslices do |scheduler|
          waiter = Thread.current
          asked = false
          opener = Thread.new do
            sleep(Patience::POLL_S) until asked && waiter.stop? && go.push(true)
          end
          fiber do
            sleep(0)
            scheduler.end_timeslice
            # Takes some ms in one instruction. The watchdog has asked when the wait begins, and
            # nothing has looked.
            asked = LONG + LONG
            found << NBLoading
          end
          fiber { sleep(0) until asked && seen.push(waiter.status) }
          opener
        end
      end
      assert_equal [["run"], [5]], [seen, found],
                   "another fiber of the thread ran while Ruby took it to be asleep"
    end

    LONG = Array.new(4_000_000).freeze

    # @yield while another thread loads NBLoading
    def loading(begun, go)
      Tempfile.create(["loading", ".rb"]) do |file|
        file.write("$begun << true; $go.pop; NBLoading = 5")
        file.close
        $begun, $go = begun, go
        Object.autoload(:NBLoading, file.path)
        loader = Thread.new { NBLoading }
        begun.pop
        yield
        assert_equal 5, loader.value
      end
    end
    private :loading
  end

  # Its loop's fiber, which is the thread's own: a finalizer or a signal's handler may run there.
  def test_in_the_loop
    in_timeslices do
      other = false
      fiber { sleep(0) && other = true }
      assert_predicate self, :stays?
      refute other
    end
  end

  # Where a handler of a signal may run in any fiber.
  def test_on_the_main_thread
    out = run_ruby(<<~RUBY)
      Fiber.set_scheduler(scheduler = NeverBlock::Scheduler.new)
      scheduler.slice_ms = 1
      steps = []
      Fiber.schedule do
        sleep(0)
        nil until scheduler.preemptions_missed > 3
        steps << :hog
      end
      Fiber.schedule { sleep(0) && steps << :other }
      scheduler.run
      p [scheduler.preemptions, steps.sort]
    RUBY
    assert_equal "[0, [:hog, :other]]\n", out
  end

  def test_a_child_of_a_fiber_that_is_left_again_and_again_goes_on_alone
    r, w = IO.pipe
    in_timeslices do
      fiber do
        sleep(0)
        be_preempted
        pid = fork do
          3_000_000.times { nil }
          w.write(Fiber.scheduler.nil? ? "child" : "scheduler")
        end
        be_preempted
        assert_predicate Process.wait2(pid).last, :success?
        w.close
      end
      fiber { sleep(0) && 5.times { be_preempted } }
      fiber { assert_equal "child", r.read }
    end
  end

  def test_a_child_may_have_slices_of_its_own
    in_timeslices do
      fiber do
        sleep(0)
        be_preempted
        pid = fork do
          Thread.new do
            Fiber.set_scheduler(NeverBlock::Scheduler.new)
            Fiber.scheduler.slice_ms = 1
            2.times { Fiber.schedule { sleep(0) && be_preempted } }
          end.join
        end
        assert_predicate Process.wait2(pid).last, :success?
      end
    end
  end

  # A thread of Ruby that never waits keeps the lock for 100 ms at a time; here it is asked for it.
  def test_a_thread_that_keeps_rubys_lock_is_made_to_give_it
    done = false
    hog = Thread.new { nil until done }
    in_timeslices do |scheduler|
      fiber do
        sleep(0.001) until scheduler.lock_handoffs > 2
        done = true
      end
    end
    assert hog.join(SECONDS)
  ensure
    done = true
  end

  def test_the_process_ends_while_fibers_are_left_and_the_watchdog_looks
    out = run_ruby(<<~RUBY)
      ready = Queue.new
      Thread.new do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        Fiber.scheduler.slice_ms = 1
        3.times { Fiber.schedule { sleep(0); loop { ready << 1 } } }
      end
      1000.times { ready.pop }
      puts "ends"
    RUBY
    assert_equal "ends\n", out
  end

  private

  # In a process of its own.
  def run_ruby(code)
    command = [RbConfig.ruby, "-I", File.expand_path("../../../lib", __dir__), "-e",
               "require 'neverblock'\n#{code}"]
    out, status = nil
    Timeout.timeout(SECONDS) { out, status = Open3.capture2e(*command) }
    assert_predicate status, :success?, out
    out
  end
end
