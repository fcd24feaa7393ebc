# frozen_string_literal: true

require_relative "../../support/unit"
require "open3"
require "rbconfig"

# Collections that are put off while a long request keeps much (binding/scheduler_heap.c). Each in a process of its own: the heap stays as it has grown, and what was
# learned of requests too.
class CollectionsPutOffTest < Minitest::Test
  SERVER = <<~RUBY
    require "net/http"
    require "timeout"

    # A request that computes until it is told to finish, and keeps as many objects as it is told to, after it has made others that it does not keep.
    class Long
      def initialize(&last)
        @last = last
        @keep = @drop = 0
        @server = NB::Server.new(NB::Config.new(binds: ["http://127.0.0.1:0"], stall_ms: 60_000), method(:call)).start
        GC.start
        @client = Thread.new { ask("/long") }
        5.times { end_slice }
      end

      def call(env)
        compute if env["PATH_INFO"] == "/long"
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

      def finish
        @finished = true
        @client.value.tap { @server.stop_now }
      end

      private

      def ask(path) = Net::HTTP.get(URI(@server.urls.first + path))

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
  RUBY

  # Each would walk all that is kept, and more. 900,000 objects have more room made for them four times, by as many collections.
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
      first = Long.new { nil }
      first.keep(50_000)
      first.finish
      count = nil
      long = Long.new { |kept| count = collections { 900_000.times { kept << Object.new } } }
      seen = put_off?
      long.finish
      print [seen, count]
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
      first = Long.new { nil }
      first.keep(50_000)
      first.finish
      GC.disable
      Long.new { nil }.finish
      print put_off?
    RUBY
  end

  private

  def script(source)
    lib = File.expand_path("../../../lib", __dir__)
    output, status = Open3.capture2e({ "RUBYOPT" => nil }, RbConfig.ruby, "-I", lib, "-rneverblock", "-e", "#{SERVER}\nTimeout.timeout(120) do\n#{source}\nend")
    assert_predicate status, :success?, output
    output
  end
end
