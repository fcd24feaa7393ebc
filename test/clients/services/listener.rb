# frozen_string_literal: true

# A loopback port with a plain thread for each connection. The scheduler under test takes no part in
# serving its tests.

require "socket"
require_relative "../../support/self_signed_certificate"

module ClientServices
  class Listener
    HOST = "127.0.0.1"
    BACKLOG = 4096

    attr_reader :port

    # @param context [OpenSSL::SSL::SSLContext, nil] TLS
    # @yieldparam socket what to converse on; closed when the block ends
    # @yieldparam number [Integer] of the connection
    def initialize(context: nil, &conversation)
      @context = context
      @conversation = conversation
      @server = TCPServer.new(HOST, 0)
      @server.listen(BACKLOG)
      @port = @server.addr[1]
      @number = 0
      Thread.new { accept }
    end

    private

    def accept
      loop do
        socket = @server.accept
        number = @number += 1
        Thread.new { converse(socket, number) }
      end
    end

    def converse(socket, number)
      Thread.current.report_on_exception = false
      socket.setsockopt(:TCP, :NODELAY, true)
      @conversation.call(@context ? SelfSignedCertificate.accept(socket, @context) : socket, number)
    rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
      nil # the client has gone
    ensure
      socket.close
    end
  end
end
