# frozen_string_literal: true

# ActiveSupport's ShareLock under our loop: fibers of one thread are owners of their own.

require_relative "../../support/unit"
require "neverblock"
require "active_support"
require "active_support/concurrency/share_lock"

class ShareLockTest < Minitest::Test
  def lock
    @lock ||= ActiveSupport::Concurrency::ShareLock.new
  end

  def test_a_fiber_waits_for_the_shares_of_the_other_fibers_of_its_thread
    order = []
    NB.run do
      inside = Thread::Queue.new
      leave = Thread::Queue.new
      NB.all(
        -> { lock.sharing { (inside << true) && leave.pop && order << :share_ends } },
        -> { inside.pop && lock.exclusive(purpose: :unload) { order << :exclusive } },
        lambda {
          sleep 0 until waiting? # the second is where it has to wait
          leave << true
        }
      )
    end
    assert_equal %i[share_ends exclusive], order
  end

  def test_what_it_says_of_its_owners_can_be_shown
    NB.run do
      lock.sharing do
        lock.raw_state do |owners|
          owner = owners.keys.first
          assert_equal 1, owners[owner][:sharing]
          assert_equal "sleep", owner.status
          assert_instance_of Array, owner.backtrace
        end
      end
    end
  end

  def test_outside_of_a_loop_the_owner_is_the_thread
    NB.run { nil }
    lock.sharing { lock.raw_state { |owners| assert_equal [Thread.current], owners.keys } }
    fiber = Fiber.new do
      lock.sharing { lock.exclusive(purpose: :unload, no_wait: true) { true } }
    end
    assert fiber.resume
  end

  private

  def waiting?
    lock.raw_state { |owners| owners.values.any? { |owner| owner[:waiting] || owner[:sleeper] } }
  end
end
