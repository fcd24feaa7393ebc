# frozen_string_literal: true

Gems.use "semian" do
  requires "semian"
  setup do
    name = "neverblock-gems-#{Process.pid}" # of the machine
    BULKHEAD = Semian.register(name, tickets: 2, timeout: 10, circuit_breaker: false)
    at_exit { Semian.destroy(name) }
    INSIDE = [0]
  end
  answer do |id|
    most = BULKHEAD.acquire do
      INSIDE[0] += 1
      Hunt.nap
      INSIDE[0].tap { INSIDE[0] -= 1 }
    end
    failed = begin
      BULKHEAD.acquire(timeout: 20) { raise KeyError, id }
    rescue KeyError => e
      e.message
    end
    [id, most <= 2, failed]
  end
end
