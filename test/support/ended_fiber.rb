# frozen_string_literal: true

# A call in a fiber that is ended from outside while it waits.
module EndedFiber
  # @param call [#call] in the fiber
  # @param waits [#call] whether it has come to the wait
  # @yieldparam fiber [Fiber] which the block ends
  # @return [Exception, nil] what has left the call
  def ended(call, waits = -> { true })
    left = nil
    caller = Fiber.schedule do
      call.call
    rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is
      left = e
    end
    sleep(0) until waits.call
    yield caller
    sleep(0) while caller.alive?
    left
  end

  def raise_in(fiber)
    sleep(0) until Fiber.scheduler.raise_in(fiber, NB::ClientGone)
  end
end
