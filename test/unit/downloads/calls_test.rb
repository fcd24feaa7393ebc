# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock"
require "neverblock/downloads/calls"
require "neverblock/downloads/losses"
require "neverblock/downloads/report"

class DownloadsCallsTest < Minitest::Test
  Downloads = NeverBlock::Downloads
  Log = Struct.new(:lines) do
    def warn(text)
      lines << text
    end

    def error(text, error)
      lines << "#{text}: #{error.class}: #{error.message}"
    end
  end

  def setup
    @log = Log.new(Thread::Queue.new)
    @counts = Thread::Queue.new
  end

  def calls(*blocks)
    count = ->(fate, number) { @counts << [fate, number] }
    @calls = Downloads::Calls.new(blocks, @log, count, Downloads::Losses.new(@log, count)).start
  end

  def report(id)
    Downloads::Report.new(id, "/a", 1, 1.0, :complete)
  end

  def test_every_block_is_called_with_each_report_in_a_fiber_that_may_wait
    seen = Thread::Queue.new
    calls(
      ->(one) { seen << [one.id, Fiber.scheduler.nil?] },
      ->(one) { seen << [one.result, NB.neverblocking?] }
    )
    @calls.offer([report("a")])
    assert_equal [["a", false], [:complete, true], [:called, 1]], [seen.pop, seen.pop, @counts.pop]
    @calls.close(Patience::SECONDS)
  end

  def test_one_that_waits_does_not_hold_up_the_others
    gate = Thread::Queue.new
    seen = Thread::Queue.new
    calls(lambda { |one|
      gate.pop if one.id == "waits"
      seen << one.id
    })
    @calls.offer([report("waits"), report("next")])
    assert_equal "next", seen.pop
    gate << true
    assert_equal "waits", seen.pop
    @calls.close(Patience::SECONDS)
  end

  def test_an_exception_is_logged_and_the_next_report_is_called
    calls(->(one) { raise NotImplementedError, "no #{one.id}" if one.id == "a" })
    @calls.offer([report("a"), report("b")])
    assert_equal [[:failed, 1], [:called, 1]], [@counts.pop, @counts.pop]
    assert_equal "on_download failed for a: NotImplementedError: no a", @log.lines.pop
    @calls.close(Patience::SECONDS)
  end

  # What a request of Rails has around it: its connections are given back, its code may be loaded.
  def test_with_rails_its_executor_is_around_each_report_and_around_one_that_fails
    around = Thread::Queue.new
    executor = Object.new
    executor.define_singleton_method(:wrap) do |&block|
      around << :begins
      block.call
    ensure
      around << :ends
    end
    with_rails(Struct.new(:executor).new(executor)) do
      calls(->(one) { one.id == "a" ? raise("no") : around << one.id })
      @calls.offer([report("a")])
      assert_equal [:failed, 1], @counts.pop
      @calls.offer([report("b")])
      assert_equal [:called, 1], @counts.pop
      @calls.close(Patience::SECONDS)
    end
    assert_equal [:begins, :ends, :begins, "b", :ends], Array.new(around.size) { around.pop }
  end

  def test_a_rails_without_an_application_is_none
    seen = Thread::Queue.new
    with_rails(nil) do
      calls(->(one) { seen << one.id })
      @calls.offer([report("a")])
      assert_equal "a", seen.pop
      @calls.close(Patience::SECONDS)
    end
  end

  def with_rails(application)
    before = Object.const_defined?(:Rails) && Object.send(:remove_const, :Rails)
    Object.const_set(:Rails, Module.new { define_singleton_method(:application) { application } })
    yield
  ensure
    Object.send(:remove_const, :Rails)
    Object.const_set(:Rails, before) if before
  end

  def test_closing_runs_what_waits
    seen = Thread::Queue.new
    calls(->(one) { seen << one.id })
    @calls.offer(Array.new(100) { |number| report(number.to_s) })
    @calls.close(Patience::SECONDS)
    assert_equal 100, seen.size
  end

  def test_what_has_not_come_to_its_end_when_time_is_up_is_counted_as_lost
    gate = Thread::Queue.new
    begun = Thread::Queue.new
    calls(lambda { |_|
      begun << true
      gate.pop
    })
    @calls.offer(Array.new(20) { report("a") })
    16.times { begun.pop }
    @calls.close(0)
    assert_equal [:lost, 20], @counts.pop
    assert_equal "20 download reports are lost: " \
                 "the process has ended, and on_download was too slow", @log.lines.pop
  end

  def test_what_does_not_fit_is_lost
    gate = Thread::Queue.new
    calls(->(_) { gate.pop })
    @calls.offer(Array.new(16) { report("a") })
    @calls.offer(Array.new(10_100) { report("a") })
    fate, number = @counts.pop
    assert_equal :lost, fate
    assert_includes 84..116, number
    @calls.close(0)
  end
end
