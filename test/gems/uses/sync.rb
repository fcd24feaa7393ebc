# frozen_string_literal: true

Gems.use "sync" do
  requires "sync"
  setup do
    LOCK = Sync.new
    INSIDE = [0]
  end
  answer do |id|
    alone = LOCK.synchronize(:EX) do
      INSIDE[0] += 1
      Hunt.nap
      LOCK.synchronize(:EX) { INSIDE[0].tap { INSIDE[0] -= 1 } }
    end
    [id, alone, LOCK.synchronize(:SH) { Hunt.nap && LOCK.shared? }]
  end
end
