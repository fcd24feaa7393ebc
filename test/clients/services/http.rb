# frozen_string_literal: true

# HTTP/1.1 for the tests of client libraries.
#
#   /echo/TOKEN            TOKEN
#   /gate/NAME/SIZE/TOKEN  TOKEN, when SIZE requests are inside at once; 503 when they do not come
#   /half/NAME/SIZE/TOKEN  as /gate, but the head and the first half of TOKEN come before the wait
#   /inside/NAME           how many are inside now
#   /last/TOKEN            TOKEN, and the connection is closed without a word
#   /stall                 no answer, for as long as the client stays
#   /drop                  no answer, the connection is closed
#   /relay/PORT/SIZE       the port of a new Relay; /relay/PORT/SIZE/tls: one with TLS
#   /turnstile/PORT        the port of a new Turnstile, called OWN below
#   /turnstile/OWN/arm/SIZE  arms it
#   /turnstile/OWN/most    the most connections that have waited at once
#
# X-Connection of an answer is the number of its connection, X-Served its own number there.

require_relative "../../support/plain_http"
require_relative "aws"
require_relative "gates"
require_relative "relay"

module ClientServices
  class Http
    Request = Struct.new(:verb, :path, :headers, :body)
    REASONS = { 200 => "OK", 404 => "Not Found", 503 => "Service Unavailable" }.freeze

    # @param context [OpenSSL::SSL::SSLContext] for relays with TLS
    def initialize(context)
      @context = context
      @gates = Gates.new
      @aws = Aws.new(@gates)
      @turnstiles = {}
    end

    # Serves one connection to its end.
    def converse(socket, number)
      served = 0
      while (request = read(socket))
        return if request.path == "/drop"
        return socket.read if request.path == "/stall"

        write(socket, request, answer(request), number, served += 1)
        if request.path.start_with?("/last/") || request.headers["connection"]&.downcase == "close"
          return
        end
      end
    end

    private

    def read(socket)
      verb, path, headers = PlainHttp.head(socket)
      return unless verb

      socket.write("HTTP/1.1 100 Continue\r\n\r\n") if headers["expect"]
      Request.new(verb, path, headers, body(socket, headers))
    end

    def body(socket, headers)
      body = if headers["transfer-encoding"]
               PlainHttp.chunks(socket)
             else
               socket.read(Integer(headers.fetch("content-length", "0"), 10))
             end
      if headers["content-encoding"].to_s.include?("aws-chunked")
        PlainHttp.chunks(StringIO.new(body))
      else
        body
      end
    end

    # @return [Array(Integer, Hash, String)]
    def answer(request)
      return @aws.answer(request) if @aws.mine?(request)

      _, what, *rest = request.path.split("/")
      case what
      when "echo", "last" then [200, {}, rest.join("/")]
      when "gate" then gate(*rest)
      when "half" then [200, {}, rest.last]
      when "inside" then [200, {}, @gates.inside(rest.first).to_s]
      when "relay"
        [200, {}, Relay.new(Integer(rest[0], 10), Integer(rest[1], 10),
                            context: rest[2] && @context).port.to_s]
      when "turnstile" then [200, {}, turnstile(*rest).to_s]
      else [404, {}, "no #{request.path}"]
      end
    end

    def gate(name, size, token)
      size = Integer(size, 10)
      most = @gates.pass(name, size)
      most >= size ? [200, {}, token] : [503, {}, "#{most} of #{size} requests were inside at once"]
    end

    def turnstile(port, verb = nil, size = nil)
      port = Integer(port, 10)
      case verb
      when "arm" then @turnstiles.fetch(port).arm(Integer(size, 10))
      when "most" then @turnstiles.fetch(port).most
      else Turnstile.new(port).tap { |made| @turnstiles[made.port] = made }.port
      end
    end

    def write(socket, request, answer, number, served)
      status, headers, body = answer
      head = +"HTTP/1.1 #{status} #{REASONS[status]}\r\ncontent-length: #{body.bytesize}\r\n" \
              "x-connection: #{number}\r\nx-served: #{served}\r\n"
      headers.each { |name, value| head << "#{name}: #{value}\r\n" }
      if request.path.start_with?("/half/")
        return write_halves(socket, request, "#{head}\r\n", body)
      end

      socket.write("#{head}\r\n#{body unless request.verb == "HEAD"}")
    end

    def write_halves(socket, request, head, body)
      middle = body.bytesize / 2
      socket.write(head + body.byteslice(0, middle))
      gate(*request.path.split("/")[2, 2], nil)
      socket.write(body.byteslice(middle..))
    end
  end
end
