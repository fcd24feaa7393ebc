# frozen_string_literal: true

require "io/event"

# A Fiber::Scheduler that adds as little as possible to io-event: its selector, its timers, no
# tasks. It separates what Async costs from what io-event costs.
# Ruby resolves names itself, since the hook is missing.
class IOEventScheduler
  def initialize
    @selector = IO::Event::Selector.new(Fiber.current)
    @timers = IO::Event::Timers.new
    @fibers = {}.compare_by_identity
  end

  def close
    turn until @fibers.empty?
  ensure
    @selector.close
  end

  def fiber(&block)
    fiber = Fiber.new(blocking: false) do
      block.call
    ensure
      @fibers.delete(Fiber.current)
    end
    # A fiber that only a queue knows of would be collected.
    @fibers[fiber] = true
    @selector.resume(fiber)
    fiber
  end

  def block(_blocker, timeout = nil)
    fiber = Fiber.current
    timer = timeout && @timers.after(timeout) { fiber.transfer(false) if fiber.alive? }
    @selector.transfer
  ensure
    timer&.cancel!
  end

  def unblock(_blocker, fiber)
    @selector.push(fiber)
    @selector.wakeup
  end

  def kernel_sleep(duration = nil)
    duration&.zero? ? @selector.yield : block(nil, duration)
  end

  def io_wait(io, events, timeout = nil)
    fiber = Fiber.current
    timer = timeout && @timers.after(timeout) { fiber.transfer(false) if fiber.alive? }
    @selector.io_wait(fiber, io, events)
  ensure
    timer&.cancel!
  end

  def io_read(io, buffer, length, offset = 0)
    @selector.io_read(Fiber.current, io, buffer, length, offset)
  end

  # As Async: below 3.3.1 Ruby's side of this hook is faulty.
  if RUBY_VERSION >= "3.3.1"
    def io_write(io, buffer, length, offset = 0)
      @selector.io_write(Fiber.current, io, buffer, length, offset)
    end
  end

  private

  def turn
    interval = @timers.wait_interval
    @selector.select(interval&.clamp(0, nil))
    @timers.fire
  end
end
