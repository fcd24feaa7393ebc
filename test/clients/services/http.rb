# frozen_string_literal: true

# HTTP/1.1 for the tests of client libraries.
#
#   /echo/TOKEN            TOKEN
#   /gate/NAME/SIZE/TOKEN  TOKEN, when SIZE requests are inside at once; 503 when they do not come
#   /half/NAME/SIZE/TOKEN  as /gate, but its head and the first half of TOKEN are sent before it waits
#   /inside/NAME           how many are inside now
#   /last/TOKEN            TOKEN, and the connection is closed without a word
#   /stall                 no answer, for as long as the client stays
#   /drop                  no answer, the connection is closed
#   /relay/PORT/SIZE       a new Relay's port; /relay/PORT/SIZE/tls one with TLS
#   /turnstile/PORT        a new Turnstile's port; /turnstile/ITS PORT/arm/SIZE arms it; /turnstile/ITS PORT/most tells how many have waited at once
#
# Each answer says on which connection it went, and as which answer of it: X-Connection, X-Served.

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
        return if request.path.start_with?("/last/") || request.headers["connection"]&.downcase == "close"
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
      body = headers["transfer-encoding"] ? PlainHttp.chunks(socket) : socket.read(Integer(headers.fetch("content-length", "0"), 10))
      headers["content-encoding"].to_s.include?("aws-chunked") ? PlainHttp.chunks(StringIO.new(body)) : body
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
      when "relay" then [200, {}, Relay.new(Integer(rest[0], 10), Integer(rest[1], 10), context: rest[2] && @context).port.to_s]
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
      head = +"HTTP/1.1 #{status} #{REASONS[status]}\r\ncontent-length: #{body.bytesize}\r\nx-connection: #{number}\r\nx-served: #{served}\r\n"
      headers.each { |name, value| head << "#{name}: #{value}\r\n" }
      return write_halves(socket, request, "#{head}\r\n", body) if request.path.start_with?("/half/")

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
