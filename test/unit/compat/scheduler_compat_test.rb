# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "neverblock/compat/tcp_fast_fallback"
require "socket"
require "tmpdir"

# One test for each file of compat/: what it mends, seen from an application.
class CompatTest < Minitest::Test
  include SchedulerHarness

  def test_thread_join_with_a_limit_returns_nil_at_the_limit
    queue = Queue.new
    thread = Thread.new { queue.pop }
    in_scheduler do
      fiber do
        assert_nil thread.join(0.005)
        assert_nil thread.join(0)
        queue << true
        assert_same thread, thread.join(SECONDS)
        assert_same thread, thread.join(0)
      end
    end
  end

  def test_thread_join_refuses_a_limit_as_on_a_thread
    thread = Thread.new { nil }.join
    refused = lambda do
      ["x", :x, Object].map { |limit| assert_raises(TypeError) { thread.join(limit) }.message }
    end
    seen = nil
    in_scheduler { fiber { seen = refused.call } }
    assert_equal Thread.new(&refused).value, seen
  end

  def test_thread_join_with_a_limit_raises_what_the_thread_raised
    in_scheduler do
      fiber do
        thread = Thread.new do
          Thread.current.report_on_exception = false
          sleep(0.005)
          raise IndexError
        end
        assert_raises(IndexError) { thread.join(SECONDS) }
      end
    end
  end

  def test_one_file_required_by_many_fibers_is_loaded_once
    Dir.mktmpdir do |dir|
      path = File.join(dir, "waits.rb")
      File.write(path, "sleep(0.005); ($nb_loads ||= []) << 1; sleep(0.001)")
      loaded = []
      in_scheduler { 5.times { fiber { loaded << require(path) } } }
      assert_equal [true, false, false, false, false], loaded
      assert_equal [1], $nb_loads
    end
  end

  def test_a_constant_autoloaded_from_many_fibers_is_there_in_all
    Dir.mktmpdir do |dir|
      path = File.join(dir, "autoloaded.rb")
      File.write(path, "sleep(0.005); class CompatTest; AUTOLOADED = 5; end")
      CompatTest.autoload(:AUTOLOADED, path)
      seen = []
      in_scheduler { 5.times { fiber { seen << CompatTest::AUTOLOADED } } }
      assert_equal [5] * 5, seen
    end
  end

  def test_a_file_that_raises_while_it_is_loading_raises_in_the_fiber
    Dir.mktmpdir do |dir|
      path = File.join(dir, "raises.rb")
      File.write(path, "raise IndexError")
      in_scheduler { fiber { assert_raises(IndexError) { load(path) } } }
    end
  end

  def test_require_relative_is_relative_to_its_caller_and_waits_like_require
    Dir.mktmpdir do |dir|
      Dir.mkdir(File.join(dir, "sub"))
      File.write(File.join(dir, "outer.rb"), 'require_relative "sub/inner"')
      File.write(File.join(dir, "sub", "inner.rb"), "sleep(0.002); ($nb_inner ||= []) << __dir__")
      in_scheduler { 3.times { fiber { require File.join(dir, "outer.rb") } } }
      assert_equal [File.join(File.realpath(dir), "sub")], $nb_inner
      assert_raises(LoadError) { require_relative "nothing/here" }
      assert_raises(LoadError) { eval("require_relative 'x'") }
    end
  end

  def test_require_relative_does_not_call_a_require_of_the_callers_own
    Dir.mktmpdir do |dir|
      File.write(File.join(dir, "part.rb"), "$nb_part = true")
      File.write(File.join(dir, "whole.rb"), <<~RUBY)
        Module.new do
          def self.require(*) = raise("not this one")

          require_relative "part"
        end
      RUBY
      require File.join(dir, "whole.rb")
      assert $nb_part
    end
  end

  def test_require_may_be_replaced_by_an_alias_as_zeitwerk_does
    script = <<~RUBY
      require "neverblock/scheduler"
      module Kernel
        alias_method :other_require, :require
        def require(name) = other_require(name)
      end
      Thread.new do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        Fiber.schedule { print require("set") == require("pstore") }
      end.join
    RUBY
    assert_match(/\A(true|false)\z/, output_of(script))
  end

  # When a constant is loaded, Zeitwerk looks at files (on another thread) and takes locks around
  # Kernel#require. Two executors load the same constants.
  def test_a_constant_is_there_in_all_fibers_of_all_threads_when_what_is_around_require_waits
    script = <<~RUBY
      require "neverblock/scheduler"
      require "tmpdir"
      module Kernel
        alias_method :other_require, :require
        def require(name)
          sleep(0.001)
          other_require(name).tap { sleep(0.001) }
        end
      end
      names = %i[A B C D]
      Dir.mktmpdir do |dir|
        names.each do |name|
          Object.autoload(name, path = File.join(dir, "\#{name}.rb"))
          File.write(path, "sleep(0.001); \#{name} = 5")
        end
        seen = Queue.new
        Array.new(2) do
          Thread.new do
            Fiber.set_scheduler(NeverBlock::Scheduler.new)
            5.times do
              Fiber.schedule do
                names.each { |name| sleep(0); seen << (Object.const_get(name) rescue $!) }
              end
            end
          end
        end.each(&:join)
        print Array.new(seen.size) { seen.pop }.tally
      end
    RUBY
    assert_equal({ 5 => 40 }.to_s, output_of(script))
  end

  def test_an_enumerator_in_a_fiber_answers_as_elsewhere
    outside = enumerations
    inside = nil
    in_scheduler { fiber { inside = enumerations } }
    assert_equal outside, inside
  end

  # On Ruby 3.1 and 3.2 hundreds were kept, with the requests they were of.
  def test_what_an_enumerator_at_its_end_has_returned_is_let_go
    kept = Class.new
    in_scheduler { fiber { 50.times { exhaust(kept) } } }
    3.times { GC.start }
    assert_operator ObjectSpace.each_object(kept).count, :<, 10
  end

  # What lies on the stacks that their fibers get was kept with them, such as other requests'
  # enumerators: thousands of fibers stayed.
  def test_an_enumerator_left_half_way_keeps_nothing_of_an_earlier_fiber
    skip "Enumerator#next is Ruby's own from 3.3 on" if RUBY_VERSION >= "3.3"
    kept = Class.new
    in_scheduler do
      fiber do
        objects = Array.new(100) { kept.new }
        leave_on_stacks(objects)
        left = Array.new(objects.size) { [1, 2].each.tap(&:next) }
        objects.clear
        3.times { GC.start }
        assert_operator ObjectSpace.each_object(kept).count, :<, 10
        assert_equal [2], left.map(&:next).uniq
      end
    end
  end

  def test_an_enumerator_begun_outside_goes_on_inside
    in_scheduler do
      numbers = [1, 2, 3].each
      assert_equal 1, numbers.next
      fiber { assert_equal [2, 3], [numbers.next, numbers.next] }
    end
  end

  def test_a_timeout_with_a_class_can_be_rescued_in_its_block_and_one_without_cannot
    in_scheduler do
      fiber do
        assert_equal :inside, Timeout.timeout(0.002, IndexError) { rescued { sleep } }
        assert_raises(Timeout::Error) { Timeout.timeout(0.002) { rescued { sleep } } }
        error = assert_raises(Timeout::Error) { Timeout.timeout(0.002, nil, "told") { sleep } }
        assert_equal ["told", nil], [error.message, error.cause]
        assert_raises(Timeout::Error) do
          Timeout.timeout(0.002) { Timeout.timeout(5) { rescued { sleep } } }
        end
        assert_equal 5, Timeout.timeout(5) { 5 }
      end
    end
  end

  def test_fiber_raise_at_a_fiber_that_has_resumed_one_that_waits_comes_back_or_is_refused
    order = []
    in_scheduler do
      resumer = fiber { order << (Fiber.new { rescued { sleep(0.01) && :slept } }.resume) }
      fiber do
        resumer.raise(IndexError)
        order << :told
      rescue FiberError
        order << :refused
      end
    end
    assert_equal RUBY_VERSION < "3.3" ? %i[refused slept] : %i[inside told], order
  end

  def test_fiber_raise_at_a_fiber_that_waits_comes_back_to_who_raised
    order = []
    in_scheduler do
      waits = [-> { sleep }, -> { Queue.new.pop }, -> { IO.pipe.then { |r, _w| r.read } }]
      fibers = waits.map do |wait|
        fiber { order << assert_raises(IndexError) { wait.call }.message }
      end
      fiber { fibers.each { |f| f.raise(IndexError, "told") } and order << :raised }
    end
    assert_equal [:raised, "told", "told", "told"], order
  end

  def test_fiber_raise_at_a_fiber_that_was_woken_waits_until_it_has_had_what_it_was_woken_for
    queue = Queue.new
    order = []
    in_scheduler do
      popper = fiber do
        order << queue.pop and assert_raises(RuntimeError) { sleep } and order << :raised
      end
      fiber { queue << :popped and popper.raise }
    end
    assert_equal %i[popped raised], order
  end

  def test_fiber_raise_elsewhere_is_as_ever
    in_scheduler do
      fiber do
        own = Fiber.new { assert_raises(IndexError) { Fiber.yield } and :done }
        own.resume
        assert_equal :done, own.raise(IndexError)
        assert_raises(FiberError) { own.raise(IndexError) }
      end
    end
  end

  def test_select_stays_private_and_method_missing_reachable
    object = Class.new { def method_missing(name, *) = name }.new
    assert_equal :select, object.select
  end

  def test_fast_fallback_is_off_where_it_exists
    there = Socket.respond_to?(:tcp_fast_fallback=)
    assert_equal there, NeverBlock::Compat::TcpFastFallback.apply
    refute Socket.tcp_fast_fallback if there
  end

  def test_a_child_of_the_main_thread_without_a_scheduler_is_left_alone
    pid = fork { exit!(Fiber.scheduler.nil? ? 0 : 1) }
    assert_predicate Process.wait2(pid).last, :success?
  end

  def test_close_of_what_nobody_waits_for_is_as_ever
    r, w = IO.pipe
    assert_nil r.close
    assert_nil r.close
    in_scheduler { fiber { assert_nil w.close } }
    assert_raises(IOError) { IO.allocate.close }
  end

  private

  def rescued
    yield
  rescue StandardError
    :inside
  end

  def enumerations
    numbers = Enumerator.new do |out|
      (out << 1 << 2) && out.yield(3, 4) && out.yield || out.yield(nil) || out.yield([5, 6]) ||
        :result
    end
    seen = [numbers.next, numbers.peek, numbers.next, numbers.next, numbers.next]
    seen << ended { loop { seen << numbers.next_values } }
    seen << ended { numbers.peek } << ended { numbers.dup.class }
    numbers.rewind
    seen << numbers.next << numbers.peek_values << fed << [7].each.with_index.next
    seen << (1..3).lazy.map { |number| number * 3 }.next
    failing = Enumerator.new { |out| (out << 1) && raise(IndexError, "in") }
    seen << failing.next << ended { failing.next }
  end

  # @return what the script writes, run by a Ruby of its own
  def output_of(script)
    load_path = $LOAD_PATH.map { |path| "-I#{path}" }
    IO.popen([RbConfig.ruby, *load_path, "-W0", "-e", script], &:read)
  end

  def exhaust(result_class)
    assert_raises(StopIteration) { Enumerator.new { |_| result_class.new }.next }
    nil
  end

  # Each on a stack of its own, which has no fiber afterwards.
  def leave_on_stacks(objects)
    fibers = objects.map do |object|
      Fiber.new do
        deep(object, 6)
        Fiber.yield
        nil
      end
    end
    2.times { fibers.each(&:resume) }
    fibers.clear
  end

  def deep(object, left)
    return object.hash if left.zero?

    [object].each { |one| [one].map { |two| two.then { |three| deep(three, left - 1) } } }
  end

  def ended
    yield
  rescue StopIteration => e
    [e.class, e.result, e.message]
  rescue StandardError => e
    [e.class, e.message]
  end

  def fed
    source = Object.new
    def source.each = yield(yield(:first))
    enumerator = source.to_enum
    first = enumerator.next
    enumerator.feed(:fed)
    [first, ended { enumerator.feed(:again) }, enumerator.next]
  end
end
