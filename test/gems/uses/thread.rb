# frozen_string_literal: true

Gems.use "thread" do
  requires "thread/recursive_mutex", "thread/future"
  setup do
    LOCK = RecursiveMutex.new
    INSIDE = [0]
  end
  answer do |id|
    LOCK.lock
    LOCK.lock
    alone = INSIDE[0] += 1
    Hunt.nap
    INSIDE[0] -= 1
    2.times { LOCK.unlock }
    [alone, ~Thread.future { Hunt.nap && id }]
  end
end
