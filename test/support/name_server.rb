# frozen_string_literal: true

# A name server of a test's own: every name has the address 127.0.0.1, and no other records.
# It answers by UDP and by TCP.

require "socket"

class NameServer
  HEAD_BYTES = 12
  TYPE_A = 1
  # Response, recursion desired and available, no error (RFC 1035 section 4.1.1).
  FLAGS = 0x8180
  # A pointer to the name in the question, A, IN, 0 s, 4 bytes (RFC 1035 sections 4.1.3, 4.1.4).
  ANSWER = [0xc00c, TYPE_A, 1, 0, 4, 127, 0, 0, 1].pack("nnnNnC4").freeze

  def initialize
    @datagrams, @listener = both
    @threads = [Thread.new { serve_datagrams }, Thread.new { serve_connections }]
  end

  # @return [String] HOST:PORT
  def address
    "127.0.0.1:#{@datagrams.addr[1]}"
  end

  def close
    @threads.each { |thread| thread.kill.join }
    [@datagrams, @listener].each(&:close)
  end

  private

  # On the same port, as clients choose between UDP and TCP.
  def both
    listener = TCPServer.new("127.0.0.1", 0)
    datagrams = UDPSocket.new
    datagrams.bind("127.0.0.1", listener.addr[1])
    [datagrams, listener]
  rescue Errno::EADDRINUSE
    [datagrams, listener].each(&:close)
    retry
  end

  def serve_datagrams
    loop do
      message, from = @datagrams.recvfrom(4_096)
      @datagrams.send(answer(message), 0, from[3], from[1])
    end
  end

  def serve_connections
    loop { Thread.new(@listener.accept) { |connection| serve_connection(connection) } }
  end

  # Each message behind its length in two bytes (RFC 1035 section 4.2.2).
  def serve_connection(connection)
    while (length = connection.read(2)) && (message = connection.read(length.unpack1("n")))
      response = answer(message)
      connection.write([response.bytesize].pack("n") + response)
    end
  rescue SystemCallError
    nil # the client is gone
  ensure
    connection.close
  end

  def answer(message)
    question = question_of(message)
    address = question.unpack1("@#{question.bytesize - 4}n") == TYPE_A
    head = [message.unpack1("n"), FLAGS, 1, address ? 1 : 0, 0, 0].pack("n6")
    head + question + (address ? ANSWER : "")
  end

  # Labels, each with its length before it, then type and class.
  def question_of(message)
    at = HEAD_BYTES
    at += message.getbyte(at) + 1 until message.getbyte(at).zero?
    message.byteslice(HEAD_BYTES, at + 5 - HEAD_BYTES)
  end
end
