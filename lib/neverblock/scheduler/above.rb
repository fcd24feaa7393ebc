# frozen_string_literal: true

# A scheduler of another library that runs its fibers on a loop of ours: Async's, with `scheduler
# :async` (scheduler/async.rb). Ruby knows that scheduler as the thread's. What waits in ours beside
# it finds ours here.

module NeverBlock
  class Scheduler
    module Above
      # @return [Scheduler] the scheduler whose loop runs
      attr_reader :neverblock

      # @param scheduler [Object, nil] a Fiber::Scheduler
      # @return [Scheduler, nil] that one, if it is ours; the one beneath it; or nil
      def self.beneath(scheduler)
        case scheduler
        when Scheduler then scheduler
        when Above then scheduler.neverblock
        end
      end
    end
  end
end
