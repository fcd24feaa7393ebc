# frozen_string_literal: true

require_relative "../../support/unit"
require "open3"
require "rbconfig"

# Tests collections that are put off while a long request keeps much (binding/state/heap.c). Each
# test runs in a process of its own, because the heap stays as large as it has grown, and what was
# learned of requests stays too.
class CollectionsPutOffTest < Minitest::Test
  SERVER = <<~RUBY
    require "net/http"
    require "timeout"

    # A request that computes until it is told to finish. It keeps as many objects as it is told to,
    # after it has made others that it does not keep.
    class Long
      # at_once: so many before its first slice can end.
      def initialize(at_once: 0, &last)
        @last = last
        @drop = 0
        @keep = at_once
        config = NB::Config.new(binds: ["http://127.0.0.1:0"], stall_ms: 60_000)
        @server = NB::Server.new(config, method(:call)).start
        GC.start
        @client = Thread.new { ask("/long") }
        sleep(0.001) until @keep.zero?
        5.times { end_slice }
      end

      def call(env)
        compute if env["PATH_INFO"] == "/long"
        leave if env["PATH_INFO"] == "/leaves"
        [200, {}, ["answered"]]
      end

      # Ends a slice of it, and the thread of the script takes some milliseconds.
      def end_slice = ask("/light")

      def keep(count, drop: 0)
        @drop = drop
        @keep = count
        end_slice until @keep.zero?
        5.times { end_slice }
      end

      # Another one, whose slice ends, makes so many objects that it does not keep.
      def leave_another(count)
        @leave = count
        answered = Thread.new { ask("/leaves") }
        end_slice until answered.join(0)
        end_slice
      end

      def finish
        @finished = true
        @client.value.tap { @server.stop_now }
      end

      private

      def ask(path) = Net::HTTP.get(URI(@server.urls.first + path))

      def leave
        preemptions = Fiber.scheduler.preemptions
        @leave.times { Object.new }
        nil until Fiber.scheduler.preemptions > preemptions
      end

      def compute
        kept = []
        until @finished
          next if @keep.zero?

          @drop.times { Object.new }
          kept.concat(Array.new(@keep) { Object.new })
          GC.start
          @keep = 0
        end
        @last.call(kept)
      end
    end

    def put_off? = GC.disable.tap { |disabled| GC.enable unless disabled }

    def collections
      before = GC.count
      yield
      GC.count - before
    end

    def let_one_keep_much
      first = Long.new { nil }
      first.keep(50_000)
      first.finish
    end

    # Of a request that comes to keep 900,000: whether there are no collections before that, and how
    # many there are then.
    def seen_of_many(**options)
      count = nil
      long = Long.new(**options) do |kept|
        count = collections { 900_000.times { kept << Object.new } }
      end
      seen = put_off?
      long.finish
      [seen, count]
    end
  RUBY

  # Each collection would walk all that is kept, and more. Ruby would make room for 900,000 objects
  # four times, by as many collections.
  def test_there_are_none_until_it_is_over
    assert_equal "[true, 0, \"answered\", false]", script(<<~RUBY)
      count = nil
      long = Long.new { |kept| count = collections { 900_000.times { kept << Object.new } } }
      long.keep(50_000)
      seen = put_off?
      answer = long.finish
      print [seen, count, answer, put_off?]
    RUBY
  end

  def test_the_next_has_none_from_its_start
    assert_equal "[true, 0]", script(<<~RUBY)
      let_one_keep_much
      print seen_of_many
    RUBY
  end

  def test_one_of_its_first_milliseconds_tells_that_it_keeps_much
    assert_equal "[true, 0]", script("print seen_of_many(at_once: 50_000)")
  end

  def test_one_of_its_first_milliseconds_does_not_tell_that_it_will_keep_little
    assert_equal "[false, true]", script(<<~RUBY)
      let_one_keep_much
      GC.disable # or they would be put off before there is one
      long = Long.new { nil }
      GC.enable
      seen = put_off?
      GC.start
      5.times { long.end_slice }
      print [seen, put_off?]
      long.finish
    RUBY
  end

  # A collection would walk what the long request keeps. The script first makes room for 500,000
  # objects without elements, so that Ruby has no reason of its own to collect.
  def test_what_another_has_left_is_collected_when_the_long_one_is_over
    assert_equal "[0, true]", script(<<~RUBY)
      GC.disable
      anchors = NB::Heap.fill(500_000, 3, NB::Heap::ANCHOR_EVERY)
      GC.enable
      gate = Queue.new
      long = Long.new { gate.pop }
      GC.start
      finished = Thread.new { long.finish }
      count = collections { long.leave_another(400_000) }
      gate << nil
      print [count, collections { finished.join }.positive?]
    RUBY
  end

  def test_there_are_some_again_once_the_heap_has_grown_by_much
    assert_equal "[true, false]", script(<<~RUBY)
      count = nil
      long = Long.new { |kept| count = collections { 2_500_000.times { kept << Object.new } } }
      long.keep(50_000)
      long.finish
      print [count.positive?, put_off?]
    RUBY
  end

  def test_there_are_some_where_nothing_happens_while_it_waits
    assert_equal "[true, false]", script(<<~RUBY)
      gate = Queue.new
      long = Long.new { gate.pop }
      long.keep(50_000)
      seen = put_off?
      finished = Thread.new { long.finish }
      sleep(0.01) while put_off?
      gate << nil
      finished.join
      print [seen, put_off?]
    RUBY
  end

  def test_there_are_some_where_little_is_kept
    assert_equal "false", script(<<~RUBY)
      long = Long.new { nil }
      long.keep(100)
      seen = put_off?
      long.finish
      print seen
    RUBY
  end

  # Its collections are short, and would be longer for all the garbage.
  def test_there_are_some_where_much_more_is_made_than_kept
    assert_equal "false", script(<<~RUBY)
      long = Long.new { nil }
      long.keep(50_000, drop: 1_000_000)
      seen = put_off?
      long.finish
      print seen
    RUBY
  end

  def test_an_application_that_has_disabled_them_finds_them_disabled
    assert_equal "true", script(<<~RUBY)
      let_one_keep_much
      GC.disable
      Long.new { nil }.finish
      print put_off?
    RUBY
  end

  private

  def script(source)
    lib = File.expand_path("../../../lib", __dir__)
    program = "#{SERVER}\nTimeout.timeout(120) do\n#{source}\nend"
    output, status = Open3.capture2e({ "RUBYOPT" => nil }, RbConfig.ruby, "-I", lib,
                                     "-rneverblock", "-e", program)
    assert_predicate status, :success?, output
    output
  end
end
