# frozen_string_literal: true

# For tests of a database driver on our loop: bytes between it and a real server are held. Another
# fiber has to see them held, and the call still inside, before it lets go. So nothing is proven by
# a clock.

require "neverblock"

require_relative "held_relay"
require_relative "scheduler_harness"
require_relative "services"

module HeldCalls
  include SchedulerHarness

  def self.server
    Services.mariadb(tls: true)
  end

  # One for the test process: the server is started outside of any loop.
  def self.relay
    @relay ||= HeldRelay.new(server.port).tap { |relay| Minitest.after_run { relay.close } }
  end

  def setup
    relay
  end

  def teardown
    relay.let_go
  end

  def relay
    HeldCalls.relay
  end

  def on_loop(&block)
    in_scheduler { fiber(&block) }
  end

  # Calls the block in a fiber. Another one sees that it waits for what is held, and lets go.
  # @param held [Thread::Queue, nil] what HeldRelay#hold gave; nil: it is called with `hold`
  def while_held(held = nil, **hold)
    held ||= relay.hold(**hold)
    ended = Thread::Queue.new
    Fiber.schedule { ended << NeverBlock::Outcome.of { yield } }
    held.pop
    3.times { sleep(0) }
    assert_empty ended, "the call did not wait"
    relay.let_go
    ended.pop.get(breaks: false)
  end

  # Calls the block in a fiber, and cancels it where it waits for what is held.
  # @return [Exception] what the block was left by
  def cancelled_while_held(**hold)
    held = relay.hold(**hold)
    ended = Thread::Queue.new
    caller = Fiber.schedule { ended << NeverBlock::Outcome.of { yield } }
    held.pop
    caller.raise(NB::Cancelled, "enough")
    ended.pop.error
  end
end
