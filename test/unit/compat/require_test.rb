# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "monitor"
require "tmpdir"

# A file that is loaded in a fiber runs in that fiber, as it runs in the thread of a server with
# threads.
class RequireCompatTest < Minitest::Test
  include SchedulerHarness

  class << self
    attr_accessor :shared # what the files use
  end

  def setup
    @folder = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def test_it_enters_a_monitor_that_the_fiber_has
    lock = share(Monitor.new)
    each_way("shared.enter; shared.exit") { |load| lock.synchronize(&load) }
    text = "shared.synchronize { class RequireCompatTest; ENTERED = 5; end }"
    RequireCompatTest.autoload(:ENTERED, file(text))
    in_scheduler { fiber { assert_equal 5, lock.synchronize { ENTERED } } }
  end

  def test_its_fiber_locals_and_mutexes_are_the_fibers
    lock = share(Mutex.new)
    each_way("Thread.current[:found] = [Thread.current[:given], shared.owned?]") do |load|
      Thread.current[:given] = 5
      lock.synchronize(&load)
      assert_equal [5, true], Thread.current[:found]
    end
  end

  def test_what_it_throws_is_caught_around_it
    each_way("throw :here, 3") { |load| assert_equal 3, catch(:here, &load) }
  end

  # Text of a file that fails. Before Ruby 3.4 a NameError keeps all its lines: see compat/require.
  FAILING = { "def (" => SyntaxError, "require 'no/such/file'" => LoadError,
              "nothing_here" => NameError }.freeze

  def test_the_backtrace_of_a_file_that_fails_has_no_line_of_the_replaced_methods
    FAILING.each do |text, kind|
      path = file(text)
      [-> { load(path) }, -> { require(path) }, -> { Kernel.load(path) }].each do |load|
        error = assert_raises(kind, &load)
        assert_includes error.backtrace.join("\n"), __FILE__
        next if kind == NameError && RUBY_VERSION < "3.4"

        assert_empty error.backtrace.grep(%r{neverblock/compat/require})
      end
    end
  end

  def test_an_error_in_the_code_of_a_file_still_shows_its_line
    error = assert_raises(NameError) { load(file("x = 1; nothing_here")) }
    assert_equal "nothing_here", error.name.to_s
    assert_match(/:1:in /, error.backtrace_locations.first.to_s)
  end

  def test_it_waits_for_a_lock_that_another_fiber_has
    lock = share(Mutex.new)
    holder = -> { fiber { lock.synchronize { sleep(0.01) } } }
    each_way("shared.synchronize { }", before: holder, &:call)
  end

  def test_it_waits_for_what_another_fiber_pushes
    queue = share(Queue.new)
    each_way("shared.pop", before: -> { fiber { sleep(0.01) && queue << true } }, &:call)
  end

  def test_the_child_of_a_fork_in_it_goes_on
    share(nil)
    each_way("RequireCompatTest.shared = fork") do |load|
      load.call
      exit!(sleep(0.001) ? 8 : 9) if RequireCompatTest.shared.nil?
      assert_equal 8, Process.wait2(RequireCompatTest.shared).last.exitstatus
    end
  end

  private

  def share(object)
    RequireCompatTest.shared = object
  end

  def file(text)
    path = File.join(@folder, "file#{@files = @files.to_i + 1}.rb")
    File.write(path, text.gsub(/\bshared\./, "RequireCompatTest.shared."))
    path
  end

  # Calls the block in a fiber for each way to load a file of this text.
  def each_way(text, before: -> {})
    %i[require load require_relative].each do |way|
      path = file(text)
      in_scheduler do
        before.call
        fiber { yield(lambda { |*| send(way, path) }) }
      end
    end
  end
end
