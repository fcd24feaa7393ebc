# frozen_string_literal: true

# A name server of a test's own: every name has the address 127.0.0.1, and no other records.

require "socket"

class NameServer
  HEAD_BYTES = 12
  TYPE_A = 1
  # Response, recursion desired and available, no error (RFC 1035 section 4.1.1).
  FLAGS = 0x8180
  # A pointer to the name in the question, A, IN, 0 s, 4 bytes (RFC 1035 sections 4.1.3, 4.1.4).
  ANSWER = [0xc00c, TYPE_A, 1, 0, 4, 127, 0, 0, 1].pack("nnnNnC4").freeze

  def initialize
    @socket = UDPSocket.new
    @socket.bind("127.0.0.1", 0)
    @thread = Thread.new { serve }
  end

  # @return [String] HOST:PORT
  def address
    "127.0.0.1:#{@socket.addr[1]}"
  end

  def close
    @thread.kill.join
    @socket.close
  end

  private

  def serve
    loop do
      message, from = @socket.recvfrom(4_096)
      @socket.send(answer(message), 0, from[3], from[1])
    end
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
