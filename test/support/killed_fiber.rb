# frozen_string_literal: true

# Kills a fiber that waits in our scheduler as Fiber#kill does there (compat/fiber_kill.rb), also on
# Rubies before 3.3, which have no such method.

require "neverblock"

module KilledFiber
  module Ending
    extend NeverBlock::FromOutside

    def self.exception(*)
      throw NeverBlock::Scheduler
    end
  end

  # @param fiber [Fiber] one that Fiber.schedule has made
  def self.kill(fiber)
    return fiber.kill if fiber.respond_to?(:kill)

    fiber.instance_variable_set(:@neverblock_killed, true) # Compat.killed?
    Fiber.scheduler.raise_in(fiber, Ending) || raise("it does not wait")
  end
end
