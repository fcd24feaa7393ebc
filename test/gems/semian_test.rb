# frozen_string_literal: true

require "test_helper"
require "gems/support/asked"
require "open3"

# Tests that a fiber that waits for a ticket of a bulkhead lets the others run, and that each ticket
# comes back (lib/neverblock/compat/semian.rb).
class GemsSemianTest < Minitest::Test
  # One ticket, of a bulkhead that was made before the patch, as in an initializer.
  PROGRAM = <<~RUBY
    require "semian"
    NAME = "neverblock-test-\#{Process.pid}"
    Semian.register(NAME, tickets: 1, timeout: 30, circuit_breaker: false)
    at_exit { Semian.destroy(NAME) }
    require "neverblock"
    require "timeout"
    require "support/killed_fiber"
    GO = Queue.new
    def take(...) = Semian[NAME].acquire(...)
    def hold = take { GO.pop }
    def held = (sleep(0) until count.zero?) || true
    def count = Semian[NAME].bulkhead.count
    def waited = sleep(0.02)
  RUBY

  def self.case(name, expected, program)
    define_method("test_#{name}") { assert_equal expected.inspect, said(program) }
  end

  self.case "a_fiber_waits_for_the_ticket_of_another_of_its_thread", [:first, :second, 1], <<~RUBY
    order = []
    NB.run do
      NB.all(-> { take { GO.pop && order << :first } }, -> { held && take { order << :second } },
             -> { held && waited && GO << 1 })
    end
    p [*order, count]
  RUBY

  self.case "a_wait_of_no_time_ends_at_once", ["Semian::TimeoutError", "value", 1], <<~RUBY
    told = value = nil
    NB.run do
      NB.all(-> { value = take { GO.pop } },
             -> { held && (take(timeout: 0) { :never } rescue told = $!.class.name)
                  GO << "value" })
    end
    p [told, value, count]
  RUBY

  self.case "a_timeout_ends_the_wait_and_the_ticket_comes_back", ["Timeout::Error", 1], <<~RUBY
    told = nil
    NB.run do
      NB.all(-> { hold },
             -> { held && (Timeout.timeout(0.02) { take { :never } } rescue told = $!.class.name)
                  GO << 1 })
    end
    p [told, count]
  RUBY

  # What it is ended by comes before, with, or after the ticket.
  self.case "tickets_that_come_too_late_come_back", [1], <<~RUBY
    NB.run do
      80.times do |turn|
        NB.all(-> { take { sleep(0.002) } },
               -> { (Timeout.timeout(0.0005 * (turn % 8)) { take { sleep(0) } }) rescue nil })
      end
    end
    p [count]
  RUBY

  self.case "killed_fibers_give_their_tickets_back", [0, 1, 1], <<~RUBY
    counts = []
    Thread.new do
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      holder = Fiber.schedule { hold }
      waiter = Fiber.schedule { take { counts << :never } }
      Fiber.schedule do
        waited
        counts << count
        KilledFiber.kill(waiter)
        KilledFiber.kill(holder)
        waited
        sleep(0) until count == 1
        counts << count << take { 1 }
      end
    end.join
    p counts
  RUBY

  self.case "outside_of_a_loop_it_is_the_gem_s", [[:block, "ArgumentError", 0], 1], <<~RUBY
    NB.run { nil }
    no_block = (Semian[NAME].bulkhead.acquire rescue $!.class.name)
    p [[take { :block }, no_block, take { count }], count]
  RUBY

  private

  def said(program)
    env = Gems::Surroundings::BUNDLE.env.merge("LD_PRELOAD" => nil)
    folders = %w[lib test].flat_map { |name| ["-I", File.join(GemBundle::ROOT, name)] }
    out, status = Open3.capture2e(env, RbConfig.ruby, "-rbundler/setup", *folders,
                                  "-e", PROGRAM + program)
    assert_predicate status, :success?, out
    out.lines.last.chomp
  end
end
