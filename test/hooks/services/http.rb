# frozen_string_literal: true

# HTTP/1.1 with persistent connections, and the two things a proxy does. Holds at one of:
#
# :head          the request is read, nothing is answered
# a target       as :head, for that request only ("/slow")
# :body          the head and the first half are sent
# :read          before the request's body
# :continue      before 100
# :connect       before the tunnel is there

require_relative "../../support/plain_http"
require_relative "service"

module HookServices
  class Http < Service
    Request = Struct.new(:verb, :target, :headers, :body)

    private

    def serve(socket)
      while (request = read(socket))
        @seen << request
        break tunnel(socket, request) if request.verb == "CONNECT"

        answer(socket, request)
      end
    end

    def read(socket)
      verb, target, headers = PlainHttp.head(socket)
      Request.new(verb, target, headers, body(socket, headers)) if verb
    end

    def body(socket, headers)
      if headers["expect"] == "100-continue"
        hold_at(:continue)
        socket.write("HTTP/1.1 100 Continue\r\n\r\n")
      end
      hold_at(:read)
      return PlainHttp.chunks(socket) if headers["transfer-encoding"] == "chunked"

      socket.read(headers["content-length"].to_i)
    end

    def answer(socket, request)
      hold_at(:head)
      hold_at(request.target)
      text = "#{request.verb} #{request.target}: #{request.body}"
      half = text.bytesize / 2
      socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" \
                   "Content-Length: #{text.bytesize}\r\n\r\n")
      return if request.verb == "HEAD"

      socket.write(text.byteslice(0, half))
      hold_at(:body)
      socket.write(text.byteslice(half..))
    end

    def tunnel(socket, request)
      host, port = request.target.split(":")
      hold_at(:connect)
      TCPSocket.open(host, port) do |origin|
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
        other = Thread.new { pass_on(origin, socket) }
        pass_on(socket, origin)
        other.join
      end
    end

    def pass_on(from, into)
      into.write(from.readpartial(16_384)) while true
    rescue IOError, SystemCallError
      into.close_write unless into.closed?
    end
  end

  # HTTP on a listening socket whose queue is full. Who connects waits until the gate opens and the
  # kernel's next SYN finds room (about a second later, RFC 6298 2.1).
  class FullBacklog < Http
    # @return [Boolean] whether a connection is being tried: its SYN is on record in /proc
    def reached?
      trying = [format("0100007F:%04X", @port), "02"]
      File.foreach("/proc/net/tcp").count { |line| line.split.values_at(2, 3) == trying } > @waiting
    end

    private

    def accept
      @gate.pass
      super
    end

    # listen(2): the queue holds one more than it is told.
    def prepare
      @server.listen(0)
      address = Socket.sockaddr_in(@port, HOST)
      @fillers = Array.new(4) do
        Socket.new(:INET, :STREAM).tap do |socket|
          socket.connect_nonblock(address, exception: false)
        end
      end
      @waiting = @fillers.size - 1
    end
  end
end
