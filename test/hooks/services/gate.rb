# frozen_string_literal: true

# What a local service waits at until the row under test says go on. It is a pipe, read by a plain
# thread. No hook of the loop under test has a part in it, and once open it stays open.

module HookServices
  class Gate
    SECONDS = 60

    def initialize
      @reader, @writer = IO.pipe
      @waiting = false
    end

    # Called by the service's thread. Returns when the gate is open.
    # @raise [RuntimeError] when nobody opened it in time
    def pass
      @waiting = true
      raise "nobody opened the gate in #{SECONDS} s" unless @reader.wait_readable(SECONDS)
    end

    # @return [Boolean] whether the service has come to the gate: the caller's question has arrived,
    #   and will have no answer before #open
    def reached?
      @waiting
    end

    def open
      @writer.write_nonblock("x")
    end

    def close
      @reader.close
      @writer.close
    end
  end
end
