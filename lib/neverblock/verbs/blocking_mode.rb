# frozen_string_literal: true

# NB.neverblock and NB.neverblocking?: whether waits of the current fiber park it or keep the thread.

require "neverblock/scheduler"

module NeverBlock
  # Calls the block in the given mode. With false each wait of this fiber in it (sleep, IO, processes, name lookups) keeps the thread: no other fiber of the
  # thread runs meanwhile, as if there were no loop; with true, inside such a block, waits park again. The mode is this fiber's, nests, and ends with the
  # block however that is left. Waits that another fiber of the thread may have to end (Mutex, Queue, ConditionVariable, Thread#join) park in either mode.
  #
  # Under another scheduler than ours false makes the fiber a blocking one (on Ruby 3.1 the block then runs in a fiber of its own), and true inside does
  # nothing. Outside a loop both only call the block.
  # @param mode [Boolean] default true
  # @return what the block returns
  def self.neverblock(mode = true, &block)
    raise ArgumentError, "NB.neverblock needs a block: the mode ends with it" unless block

    scheduler = Compat.scheduler
    return scheduler.pin(!mode, &block) if scheduler
    return yield if mode || !Fiber.current_scheduler

    Compat.blocking(&block)
  end

  # @return [Boolean] whether a wait here would park this fiber and let others run; false outside a loop and in a blocking block
  def self.neverblocking?
    scheduler = Compat.scheduler
    scheduler ? !scheduler.pinned? : !Fiber.current_scheduler.nil?
  end
end
