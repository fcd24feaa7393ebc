# frozen_string_literal: true

# A relay before a real server. What a client sends passes through, except a part with the word
# "gate". That part waits until the given number of clients have sent one. So the number of requests
# under way is known without the server's help.
# With TLS the relay also speaks TLS for servers that have no certificate.

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
      pump(client, server) { |part| hold(part) }
    ensure
      answers&.kill&.join
      server&.close
    end

    def hold(part)
      @gates.pass(:relay, @size) if @size.positive? && part.include?(MARK)
    end

    def pump(from, to)
      loop do
        part = from.readpartial(CHUNK_BYTES)
        yield part if block_given?
        to.write(part)
      end
    rescue SystemCallError, IOError
      tell_end(to)
    end

    # Whoever is told will close, which ends the other direction.
    def tell_end(socket)
      socket.is_a?(TCPSocket) ? socket.close_write : socket.close
    rescue SystemCallError, IOError
      nil # it has
    end
  end

  # A relay that lets everything pass until it is armed. Then all that clients send waits, until the
  # given number of connections have sent something.
  class Turnstile < Relay
    # The most that have waited at once since it was armed.
    attr_reader :most

    # @param port [Integer] of the real server
    def initialize(port)
      @round = @most = 0
      super(port, 0)
    end

    # @param size [Integer] connections
    def arm(size)
      @most = 0
      @round += 1
      @size = size
    end

    private

    def hold(_part)
      @most = [@most, @gates.pass(@round, @size)].max if @size.positive?
    end
  end
end
