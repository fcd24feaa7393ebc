# frozen_string_literal: true

# A gate opens when the given number of callers have come. If they do not come in time it is broken,
# and later callers get an answer at once. So a client that sends its requests one after another
# costs only one such time.

module ClientServices
  class Gates
    # Seconds from the last arrival.
    PATIENCE_S = 8

    Gate = Struct.new(:inside, :most, :open, :broken, :since)

    def initialize
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @gates = Hash.new { |gates, name| gates[name] = Gate.new(0, 0, false, false) }
    end

    # Waits inside until `size` are.
    # @return [Integer] the most that were inside at once
    def pass(name, size)
      @lock.synchronize do
        gate = @gates[name]
        arrive(gate, size)
        wait(gate) until gate.open || gate.broken
        gate.inside -= 1
        gate.most
      end
    end

    # @return [Integer] how many are inside now
    def inside(name)
      @lock.synchronize { @gates[name].inside }
    end

    private

    def arrive(gate, size)
      gate.inside += 1
      gate.most = [gate.most, gate.inside].max
      gate.since = clock
      gate.open = true if gate.inside >= size
      @changed.broadcast if gate.open
    end

    def wait(gate)
      left = gate.since + PATIENCE_S - clock
      return @changed.wait(@lock, left) if left.positive?

      gate.broken = true
      @changed.broadcast
    end

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
