# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "tempfile"
require "timeout"

class FlockCompatTest < Minitest::Test
  include SchedulerHarness

  def setup
    @file = Tempfile.new("flock")
    @path = @file.path
  end

  def teardown
    @file.close!
  end

  def test_a_fiber_waits_for_the_lock_of_another_fiber_of_its_loop
    order = []
    first = File.open(@path)
    second = File.open(@path)
    in_scheduler do
      first.flock(File::LOCK_EX)
      fiber { second.flock(File::LOCK_EX).then { order << :second } }
      fiber { sleep(0.005).then { order << :first } && first.flock(File::LOCK_UN) }
    end
    assert_equal %i[first second], order
  end

  def test_a_fiber_waits_for_the_lock_of_another_process_and_others_run_meanwhile
    held, holding = IO.pipe
    release, releasing = IO.pipe
    child = fork do
      lock { holding.puts || (releasing.close && release.gets) }
      exit!(0)
    end
    held.gets
    in_scheduler do
      fiber { assert_equal 0, lock { true } && 0 }
      fiber { releasing.puts }
    end
    assert_predicate Process.wait2(child).last, :success?
  end

  def test_shared_locks_do_not_wait_for_each_other
    held = File.open(@path).tap { |file| file.flock(File::LOCK_SH) }
    in_scheduler { fiber { assert_equal 0, File.open(@path) { |file| file.flock(File::LOCK_SH) } } }
  ensure
    held&.close
  end

  def test_lock_nb_answers_at_once
    held = File.open(@path).tap { |file| file.flock(File::LOCK_EX) }
    in_scheduler do
      fiber do
        locked = File.open(@path) { |file| file.flock(File::LOCK_EX | File::LOCK_NB) }
        assert_equal false, locked
      end
    end
  ensure
    held&.close
  end

  def test_a_timeout_ends_the_wait_and_the_lock_is_not_taken
    held = File.open(@path).tap { |file| file.flock(File::LOCK_EX) }
    in_scheduler do
      fiber { assert_raises(Timeout::Error) { Timeout.timeout(0.02) { lock { flunk } } } }
    end
    held.flock(File::LOCK_UN)
    assert_equal 0, (File.open(@path) { |file| file.flock(File::LOCK_EX | File::LOCK_NB) })
  ensure
    held&.close
  end

  def test_unlocking_and_arguments_are_ruby_s
    in_scheduler do
      fiber do
        File.open(@path) do |file|
          assert_equal 0, file.flock(File::LOCK_UN)
          assert_raises(TypeError) { file.flock("EX") }
        end
        assert_raises(IOError) { File.open(@path).tap(&:close).flock(File::LOCK_EX) }
      end
    end
  end

  private

  # Through a description of its own: flock(2)'s locks belong to those.
  def lock(&block)
    File.open(@path, "r+") { |file| file.flock(File::LOCK_EX) && block.call }
  end
end
