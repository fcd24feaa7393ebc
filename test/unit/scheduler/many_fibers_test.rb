# frozen_string_literal: true

require_relative "../../support/unit"
require "open3"
require "rbconfig"

# Tests 30,000 fibers that wait at once. The kernel's default of 65,530 memory maps sets a wall at
# 31,744. Beyond the wall comes a message that names the mend.
class SchedulerManyFibersTest < Minitest::Test
  MANY = 30_000
  MAPS_FILE = "/proc/sys/vm/max_map_count"
  MAPS = File.exist?(MAPS_FILE) ? Integer(File.read(MAPS_FILE)) : nil

  def test_thirty_thousand_fibers_wait_at_once_in_nb_run
    skip "vm.max_map_count is #{MAPS}" if MAPS && MAPS < 65_530

    assert_equal ["#{MANY} at once, #{MANY} ended\n", ""], run_script(<<~RUBY)
      inside = ended = most = 0
      NB.run do
        gate = Queue.new
        #{MANY}.times { Fiber.schedule { inside += 1; gate.pop; ended += 1 } }
        most = inside
        gate.close
      end
      puts "\#{most} at once, \#{ended} ended"
    RUBY
  end

  # What the thread does after the wall: hooks are called in fibers, and in fibers only.
  AFTER = <<~RUBY
    gate.close
    Fiber.scheduler.run
    hooks = [Fiber.current_scheduler.nil?]
    turns = []
    2.times do |i|
      Fiber.schedule {
        hooks << !Fiber.current_scheduler.nil?
        turns << i
        sleep(0.001)
        turns << i + 2
      }
    end
    Fiber.scheduler.run
    puts waiting == ended, hooks.uniq.inspect, turns.first(2).inspect
  RUBY

  def test_one_fiber_too_many_of_the_threads_own_names_the_sysctl_and_the_loop_goes_on
    assert_wall(<<~RUBY)
      Thread.new do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        loop { Fiber.schedule { waiting += 1; gate.pop; ended += 1 } }
      rescue FiberError => e
        puts e.message, waiting > 10_000
        #{AFTER}
      end.join
    RUBY
  end

  def test_one_fiber_too_many_of_a_fibers_names_the_sysctl_and_the_loop_goes_on
    assert_wall(<<~RUBY)
      Thread.new do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        Fiber.schedule do
          loop { Fiber.schedule { waiting += 1; gate.pop; ended += 1 } }
        rescue FiberError => e
          puts e.message, waiting > 10_000
          gate.close
        end
        #{AFTER}
      end.join
    RUBY
  end

  def test_one_fiber_too_many_of_a_pool_names_the_sysctl_and_the_pool_goes_on
    assert_wall(<<~RUBY)
      Thread.new do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        pool = NB::FiberPool.new(40_000)
        begin
          loop { pool.spawn { waiting += 1; gate.pop; ended += 1 } }
        rescue FiberError => e
          puts e.message,
               waiting > 10_000 && pool.stats == { running: waiting, queued: 0, waiting: 0 }
        end
        #{AFTER.sub("Fiber.schedule {", "pool.spawn {")}
      end.join
    RUBY
  end

  private

  def assert_wall(script)
    skip "there is no such limit here" if MAPS.nil? || MAPS > 131_072

    out, err = run_script("waiting = ended = 0\ngate = Queue.new\n#{script}")
    message, *rest = out.lines
    mend = "sysctl -w vm.max_map_count=#{MAPS * 4}"
    assert_match(
      /no memory map is left for another fiber .*vm.max_map_count is #{MAPS}\).*#{mend}$/,
      message, err
    )
    assert_equal [%W[true\n true\n [true]\n [0,\ 1]\n], ""], [rest, err]
  end

  def run_script(script)
    command = ["timeout", "-s", "KILL", "100", RbConfig.ruby, "-W0",
               *$LOAD_PATH.map { |path| "-I#{path}" }, "-e", "require 'neverblock'\n#{script}"]
    out, err, = Open3.capture3(*command)
    [out, err]
  end
end
