# frozen_string_literal: true

# Holds requests of a server in another process where a test wants them: a handler that calls
# Gate.wait connects to the test and reads until the test lets go. So a test knows that a request is
# inside, without a clock.

require "socket"
require "timeout"

require_relative "patience"

class Gate
  # To put into a rackup file.
  # @return [String] an expression that waits at this gate
  def wait_expression
    "TCPSocket.open('127.0.0.1', #{port}) { |gate| gate.read }"
  end

  def self.open
    gate = new
    yield gate
  ensure
    gate&.close
  end

  def initialize
    @server = TCPServer.new("127.0.0.1", 0)
  end

  # @return [Integer] for /held?port=N of RackApp
  def port
    @server.local_address.ip_port
  end

  # Waits until a request has arrived here.
  # @return [TCPSocket] which lets it go when closed
  def arrival
    Timeout.timeout(Patience::SECONDS) { @server.accept }
  end

  # @return [Boolean] whether one more is waiting outside
  def anybody?
    !@server.wait_readable(0).nil?
  end

  def close
    @server.close
  end
end
