# frozen_string_literal: true

# A slow line: passes bytes between a client and a service, and lets only the first few of the
# service's bytes through before the gate opens. TLS then waits in the middle of a record.

require_relative "service"

module HookServices
  class Relay < Service
    # @param origin [Service]
    # @param piece [Integer] bytes that pass before the gate
    # @param slow [Boolean] from the first byte on; false: from #slow! on
    def initialize(origin, piece:, slow: true)
      @origin = origin
      @piece = piece
      @slow = slow
      super()
    end

    # From now on the line is slow.
    def slow!
      @slow = true
    end

    private

    def serve(client)
      TCPSocket.open(@origin.host, @origin.port) do |origin|
        back = Thread.new { pass_on(origin, client) { |bytes| slowly(client, bytes) } }
        pass_on(client, origin) { |bytes| origin.write(bytes) }
        back.join
      end
    end

    def pass_on(from, into)
      loop { yield from.readpartial(16_384) }
    rescue IOError, SystemCallError
      into.close_write unless into.closed?
    end

    def slowly(client, bytes)
      return client.write(bytes) unless @slow

      client.write(bytes.byteslice(0, @piece))
      @gate.pass
      client.write(bytes.byteslice(@piece..))
    end
  end
end
