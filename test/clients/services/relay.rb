# frozen_string_literal: true

# Stands before a real server. What a client sends passes through, except that a part with the word "gate" waits until that many clients have sent one:
# how many requests are under way at once is then known without the server's help. With TLS it also speaks that for servers that were not given a certificate.

require_relative "gates"
require_relative "listener"

module ClientServices
  class Relay
    MARK = "gate"
    CHUNK_BYTES = 65_536

    # @param port [Integer] of the real server
    # @param size [Integer] 0: nothing waits
    def initialize(port, size, context: nil)
      @target = port
      @size = size
      @gates = Gates.new
      @listener = Listener.new(context: context) { |socket| relay(socket) }
    end

    def port
      @listener.port
    end

    private

    def relay(client)
      server = TCPSocket.new(Listener::HOST, @target)
      server.setsockopt(:TCP, :NODELAY, true)
      answers = Thread.new { pump(server, client) }
      answers.report_on_exception = false
      pump(client, server) { |part| @gates.pass(:relay, @size) if @size.positive? && part.include?(MARK) }
    ensure
      answers&.kill&.join
      server&.close
    end

    def pump(from, to)
      loop do
        part = from.readpartial(CHUNK_BYTES)
        yield part if block_given?
        to.write(part)
      end
    rescue SystemCallError, IOError
      to.close # which ends the other direction's read as well
    end
  end
end
