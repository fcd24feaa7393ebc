# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "tmpdir"

# Libraries that are loaded when the loop has begun. test/gems/callbacks_test.rb does it with the
# gems. Files here define Sync_m as the gem sync does: it has a patch (compat/sync.rb).
class LateLibrariesTest < Minitest::Test
  include SchedulerHarness

  LIBRARY = "module Sync_m; def sync_mode; end; end"

  def setup
    @folder = Dir.mktmpdir
    in_scheduler { fiber { nil } }
  end

  def teardown
    Object.__send__(:remove_const, :Sync_m) if Object.const_defined?(:Sync_m)
    FileUtils.rm_rf(@folder)
  end

  def test_it_is_patched_when_the_file_that_brought_it_has_been_loaded
    [-> { require file(LIBRARY) }, -> { Kernel.require(file(LIBRARY)) },
     -> { require file("require '#{file(LIBRARY)}'") },
     -> { require_relative file("require '#{file(LIBRARY)}'") },
     -> { load file("require '#{file(LIBRARY)}'") }].each do |way|
      in_scheduler { fiber { way.call && assert_patched } }
      Object.__send__(:remove_const, :Sync_m)
    end
  end

  def test_it_is_patched_in_a_thread_and_when_it_is_autoloaded
    path = file("require '#{file(LIBRARY)}'; class LateLibrariesTest; MADE = 3; end")
    self.class.autoload(:MADE, path)
    in_scheduler { fiber { assert_equal([3, true], [MADE, Thread.new { patched? }.value]) } }
  end

  def test_a_file_that_fails_may_have_brought_it
    in_scheduler do
      fiber do
        assert_raises(LoadError) { require file("require '#{file(LIBRARY)}'; require 'no/such'") }
        assert_patched
      end
    end
  end

  # Half of it is there.
  def test_it_is_not_looked_at_while_any_file_is_being_loaded
    entered = Queue.new
    go = Queue.new
    share(entered: entered, go: go)
    path = file("#{LIBRARY}; LateLibrariesTest.shared.values.then { |a, b| a << 1; b.pop }")
    in_scheduler do
      loads = Thread.new { require path }
      fiber do
        entered.pop
        require file("")
        refute_predicate self, :patched?
        go << 1
        loads.join
        assert_patched
      end
    end
  end

  def test_who_waited_for_the_file_finds_it_patched
    go = Queue.new
    share(go: go)
    path = file("#{LIBRARY}; LateLibrariesTest.shared[:go].pop")
    loads = Array.new(3) do
      Thread.new do
        require path
        patched?
      end
    end
    Thread.pass until go.num_waiting == 1 && loads.all?(&:stop?)
    go << 1
    assert_equal [true] * 3, loads.map(&:value)
  end

  def test_files_that_require_each_other
    path = file("require #{File.join(@folder, "file2.rb").inspect}; #{LIBRARY}")
    file("require #{path.inspect}")
    in_scheduler { fiber { capture_io { require path } && assert_patched } }
  end

  def test_a_file_that_is_not_new_searches_for_nothing
    path = file("")
    in_scheduler do
      fiber do
        require path
        Object.const_set(:Sync_m, Module.new)
        refute Kernel.require(path)
        refute_predicate self, :patched?
      end
    end
  end

  class << self
    attr_accessor :shared
  end

  private

  def share(objects) = self.class.shared = objects

  def patched? = Sync_m.const_defined?(:Thread, false)

  def assert_patched
    assert_predicate self, :patched?
  end

  def file(text)
    path = File.join(@folder, "file#{@files = @files.to_i + 1}.rb")
    File.write(path, text)
    path
  end
end
