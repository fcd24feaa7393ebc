# frozen_string_literal: true

# A TCP server of a test. One plain thread accepts and one serves each connection; none of them
# knows of the loop under test. It answers at once except at the point named by `hold`, where it
# waits for its gate. A row opens that from its second fiber.

require "io/wait"
require "socket"
require_relative "gate"
require_relative "certificate"

module HookServices
  # What a row's own time limit raises.
  Late = Class.new(StandardError)

  class Service
    HOST = "127.0.0.1"

    # @return [String] the address it listens on
    attr_reader :host

    attr_reader :port, :gate, :seen

    # @param hold [Object, nil] the point at which to wait for the gate; each service names its own
    # @param tls [Boolean] TLS, with a certificate nobody vouches for
    def initialize(hold: nil, tls: false, host: HOST)
      @host = host
      @hold = hold
      @tls = tls && Certificate.server_context
      @gate = Gate.new
      @seen = []
      @server = TCPServer.new(host, 0)
      @port = @server.addr[1]
      @threads = []
      @sockets = []
      prepare
      @threads << Thread.new { accept }
    end

    # @return [String] an address for net/http and open-uri
    def uri(path = "/")
      "http#{"s" if @tls}://#{host}:#{@port}#{path}"
    end

    # @return [Integer] how many connections there were
    def connections
      @sockets.size
    end

    # Ends the connections there are, from this side.
    def hang_up
      @sockets.each { |socket| socket.shutdown unless socket.closed? }
    end

    # @return [Boolean] whether a client waits for what is held back
    def reached?
      @gate.reached?
    end

    # Lets go what is held back.
    def open
      @gate.open
    end

    # Ends the service. Its threads are killed: a client's wait for it ends with its connection.
    def close
      threads = @threads.dup
      threads.each(&:kill).each { |thread| thread.join(60) }
      @sockets.each { |socket| socket.close unless socket.closed? }
      @server.close unless @server.closed?
      @gate.close
    end

    private

    # What has to be done before the first client comes.
    def prepare
    end

    def accept
      loop do
        socket = @server.accept
        @sockets << socket
        @threads << Thread.new { connection(socket) }
      end
    end

    def connection(socket)
      Thread.current.report_on_exception = false
      hold_at(:handshake)
      @tls ? over_tls(socket) : serve(socket)
    rescue SystemCallError, IOError, OpenSSL::SSL::SSLError => e
      @seen << e # the client has gone; what it missed, its row misses
    ensure
      socket.close unless socket.closed?
    end

    def over_tls(socket)
      tls = SelfSignedCertificate.accept(socket, @tls)
      serve(tls)
    ensure
      tls&.close
    end

    def hold_at(point)
      @gate.pass if @hold == point
    end
  end

  # A service whose conversation is the block's.
  #   Peer.new { |socket, gate| gate.pass; socket.write("late") }
  class Peer < Service
    def initialize(tls: false, &conversation)
      @conversation = conversation
      super(tls: tls)
    end

    private

    def serve(socket)
      @conversation.call(socket, @gate)
    end
  end

  # A protocol of lines: what the client sends is a command, answered by the method of its name.
  class LineService < Service
    private

    def serve(socket)
      @socket = socket
      greet
      while (line = socket.gets)
        @seen << line.chomp
        break if answer(line.chomp) == :quit
      end
    end

    # Holds at `point`, then sends.
    def reply(point, *lines)
      hold_at(point)
      @socket.write(lines.map { |line| "#{line}\r\n" }.join)
    end

    # The lines up to a single dot.
    def dotted
      lines = []
      while (line = @socket.gets)
        return lines.join if line == ".\r\n"

        lines << line.delete_prefix(".")
      end
    end
  end
end
