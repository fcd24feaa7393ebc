# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "tmpdir"

class ChdirCompatTest < Minitest::Test
  include SchedulerHarness

  CONFLICT = "conflicting chdir during another chdir block"

  def setup
    @before = Dir.pwd
    @folder = File.realpath(Dir.mktmpdir)
    %w[a b].each { |name| Dir.mkdir(inside(name)) }
  end

  def teardown
    assert_equal @before, Dir.pwd
  ensure
    Dir.chdir(@before)
    FileUtils.rm_rf(@folder)
  end

  def test_another_request_is_refused_while_a_block_runs
    beside_a_block do
      assert_refused { Dir.chdir(inside("b")) { flunk } }
      assert_refused { Dir.chdir(inside("b")) }
      assert_equal inside("a"), Dir.pwd
    end
  end

  def test_a_descriptor_is_refused_as_a_name_is
    skip "Ruby #{RUBY_VERSION} has no Dir#chdir" unless Dir.method_defined?(:chdir)
    Dir.open(inside("b")) do |folder|
      beside_a_block do
        assert_refused { folder.chdir { flunk } }
        assert_refused { Dir.fchdir(folder.fileno) }
      end
      in_scheduler { fiber { folder.chdir { assert_equal inside("b"), Dir.pwd } } }
    end
  end

  def test_a_child_of_the_request_is_another
    in_scheduler do
      fiber do
        Dir.chdir(inside("a")) { fiber { assert_refused { Dir.chdir(inside("b")) { flunk } } } }
      end
    end
  end

  def test_a_block_in_a_block_of_the_same_request_is_not_refused
    in_scheduler do
      fiber do
        Dir.chdir(inside("a")) do
          sleep(0)
          deep = Fiber.new { Dir.chdir("../b") { sleep(0) && Dir.pwd } }
          assert_equal inside("b"), deep.resume
          assert_equal inside("a"), Dir.pwd
        end
      end
    end
  end

  def test_when_the_block_has_ended_others_have_their_turn
    ended = Thread::Queue.new
    seen = []
    in_scheduler do
      fiber do
        assert_raises(IndexError) { Dir.chdir(inside("a")) { raise IndexError } }
        assert_raises(Errno::ENOENT) { Dir.chdir(inside("none")) { flunk } }
      ensure
        ended << true
      end
      fiber { ended.pop && seen << Dir.chdir(inside("b")) { |path| [path, Dir.pwd] } }
    end
    assert_equal [[inside("b")] * 2], seen
  end

  private

  def inside(name) = File.join(@folder, name)

  def beside_a_block
    begun = Thread::Queue.new
    over = Thread::Queue.new
    in_scheduler do
      fiber { Dir.chdir(inside("a")) { begun << true && over.pop } }
      fiber do
        begun.pop
        yield
      ensure
        over << true
      end
    end
  end

  def assert_refused(&block)
    assert_equal CONFLICT, assert_raises(RuntimeError, &block).message
  end
end
