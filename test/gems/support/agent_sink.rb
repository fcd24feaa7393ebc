# frozen_string_literal: true

require "json"
require "openssl"
require "socket"
require "stringio"
require "zlib"
require "support/plain_http"
require "support/self_signed_certificate"

# Takes what agents send, over HTTP or TLS, and answers as their services do.
class AgentSink
  # New Relic's agent is told how much it may send, and who it is.
  CONNECTED = {
    agent_run_id: "1", account_id: "1", trusted_account_key: "1", primary_application_id: "1",
    collect_traces: true, collect_errors: true, collect_span_events: true,
    event_harvest_config: {
      report_period_ms: 60_000,
      harvest_limits: { analytic_event_data: 10_000, error_event_data: 10_000,
                        span_event_data: 10_000, log_event_data: 10_000 }
    },
    span_event_harvest_config: { report_period_ms: 60_000, harvest_limit: 10_000 }
  }.freeze

  Message = Struct.new(:path, :body)

  # @param certificate [SelfSignedCertificate, nil]
  def initialize(certificate = nil)
    @context = certificate&.server_context
    @messages = []
    @lock = Mutex.new
    @server = TCPServer.new("127.0.0.1", 0)
    @thread = Thread.new { loop { Thread.new(@server.accept) { |socket| serve(socket) } } }
  end

  def url = "#{@context ? "https" : "http"}://127.0.0.1:#{@server.addr[1]}"

  # @return [Array<Message>]
  def messages = @lock.synchronize { @messages.dup }

  def close
    @thread.kill.join
    @server.close
  end

  private

  def serve(socket)
    client = @context ? SelfSignedCertificate.accept(socket, @context) : socket
    nil while take(client)
  rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
    nil # it has left
  ensure
    socket.close
  end

  def take(client)
    _, path, headers = PlainHttp.head(client)
    return unless path

    client.write("HTTP/1.1 100 Continue\r\n\r\n") if headers["expect"]
    body = plain(body_of(client, headers), headers["content-encoding"])
    @lock.synchronize { @messages << Message.new(path, body) }
    answer = JSON.generate(answer_to(path))
    client.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" \
                 "Content-Length: #{answer.bytesize}\r\n\r\n#{answer}")
  end

  def body_of(client, headers)
    return PlainHttp.chunks(client) if headers["transfer-encoding"]

    client.read(headers["content-length"].to_i)
  end

  def plain(body, coding)
    case coding
    when "gzip" then Zlib::GzipReader.new(StringIO.new(body)).read
    when "deflate" then Zlib.inflate(body)
    else body
    end
  end

  def answer_to(path)
    case path[/method=(\w+)/, 1]
    when "preconnect" then { return_value: { redirect_host: "127.0.0.1" } }
    when "connect" then { return_value: CONNECTED }
    when nil then {}
    else { return_value: [] }
    end
  end
end
