# frozen_string_literal: true

# A name server (RFC 1035) on a UDP port and the TCP port of the same number. Holds at :udp or at
# :tcp. With `truncate` the answer by UDP says to ask again by TCP. Every name has the address
# 192.0.2.7 (RFC 5737), and every address the name host.test.

require "resolv"
require_relative "service"

module HookServices
  class Dns < Service
    ADDRESS = "192.0.2.7"
    NAME = "host.test"

    # What names are answered with.
    attr_writer :address

    def initialize(hold: :udp, truncate: false)
      super(hold: hold)
      @truncate = truncate
      @address = ADDRESS
      @udp = UDPSocket.new
      @udp.bind(HOST, @port)
      @threads << Thread.new { datagrams }
    end

    # @return [Resolv::DNS] a client that asks here only
    def client
      Resolv::DNS.new(nameserver_port: [[HOST, @port]], search: [], ndots: 1)
    end

    def close
      super
      @udp.close
    end

    private

    def datagrams
      loop do
        question, from = @udp.recvfrom(512)
        hold_at(:udp)
        @udp.send(reply(question, truncated: @truncate), 0, from[3], from[1])
      end
    end

    def serve(socket)
      while (size = socket.read(2)&.unpack1("n"))
        question = socket.read(size)
        hold_at(:tcp)
        answer = reply(question)
        socket.write([answer.bytesize].pack("n"), answer)
      end
    end

    def reply(question, truncated: false)
      message = Resolv::DNS::Message.decode(question)
      message.qr = message.aa = message.ra = 1
      message.tc = 1 if truncated
      message.each_question { |name, type| truncated || records(message, name, type) }
      message.encode
    end

    def records(message, name, type)
      @seen << [name.to_s, type]
      record =
        if type == Resolv::DNS::Resource::IN::A
          type.new(@address)
        elsif type == Resolv::DNS::Resource::IN::PTR
          type.new(Resolv::DNS::Name.create("#{NAME}."))
        elsif type == Resolv::DNS::Resource::IN::TXT
          type.new("text")
        end
      message.add_answer(name, 60, record) if record
    end
  end
end
