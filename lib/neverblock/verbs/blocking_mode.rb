# frozen_string_literal: true

# NB.neverblock and NB.neverblocking?: whether waits park the current fiber or block its thread.

require "neverblock/errors/backtrace"
require "neverblock/scheduler"

module NeverBlock
  # Calls the block in the given mode.
  #
  # With false, each wait of this fiber in the block (sleep, IO, processes, name lookups) blocks the
  # thread: no other fiber of it runs meanwhile. With true inside such a block, waits park again.
  # Waits that another fiber of the thread may have to end (Mutex, Queue, ConditionVariable,
  # Thread#join) park in either mode. The mode belongs to this fiber, nests, and ends with the
  # block.
  #
  # Under another scheduler than ours, false makes the fiber a blocking one, and true inside has no
  # effect. On Ruby 3.1 the block then runs in a fiber of its own. Outside a loop both modes only
  # call the block.
  # @param mode [Boolean] whether waits park; default true
  # @return what the block returns
  # @raise [ArgumentError] without a block, or for another mode
  def self.neverblock(mode = true, &block)
    unless block
      raise ArgumentError, "NB.neverblock needs a block: the mode ends with it",
            Backtrace.of_caller
    end
    unless mode == true || mode == false || mode.nil?
      raise ArgumentError, "NB.neverblock takes true or false, got #{mode.inspect}",
            Backtrace.of_caller
    end

    scheduler = Compat.scheduler
    return scheduler.pin(!mode, &block) if scheduler
    return yield if mode || !Fiber.current_scheduler

    Compat.blocking(&block)
  end

  # @return [Boolean] whether a wait here would park this fiber and let others run; false outside a
  #   loop and in a blocking block
  def self.neverblocking?
    scheduler = Compat.scheduler
    scheduler ? !scheduler.pinned? : !Fiber.current_scheduler.nil?
  end
end
