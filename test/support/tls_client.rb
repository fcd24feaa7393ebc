# frozen_string_literal: true

# A client of a server that speaks TLS, by Ruby's OpenSSL: connections as plain IOs, and requests on
# them. It trusts every certificate, as what it looks at are bytes.

require "openssl"
require "socket"
require "uri"

class TLSClient
  # @return [OpenSSL::SSL::SSLSocket]
  attr_reader :socket

  # @param url [String]
  # @param session [OpenSSL::SSL::Session, nil] to be resumed
  # @param protocols [Array<String>, nil] for ALPN
  # @param name [String, nil] for SNI
  # @yieldparam context [OpenSSL::SSL::SSLContext] further settings
  def initialize(url, session: nil, protocols: nil, name: nil)
    uri = URI(url)
    context = OpenSSL::SSL::SSLContext.new
    context.verify_mode = OpenSSL::SSL::VERIFY_NONE
    context.alpn_protocols = protocols if protocols
    yield context if block_given?
    @tcp = TCPSocket.new(uri.host, uri.port)
    @socket = OpenSSL::SSL::SSLSocket.new(@tcp, context)
    @socket.sync_close = true
    @socket.session = session if session
    @socket.hostname = name if name
    @socket.connect
  end

  # @return [self]
  def write(bytes)
    @socket.write(bytes)
    self
  end

  # Ends the sending side of the socket alone, without a close_notify.
  def finish
    @tcp.shutdown(Socket::SHUT_WR)
  end

  # @return [String] all that comes until the server's end
  def rest
    @socket.read
  end

  # Reads one response.
  # @return [Array(Integer, Hash, String)]
  def response
    status = @socket.gets("\r\n")[/\AHTTP\/1.1 (\d+)/, 1].to_i
    fields = {}
    while (line = @socket.gets("\r\n").chomp) != ""
      name, value = line.split(": ", 2)
      fields[name.downcase] = value
    end
    [status, fields, body(fields)]
  end

  def get(path)
    write("GET #{path} HTTP/1.1\r\nHost: local.example\r\n\r\n").response
  end

  def close
    @socket.close
  end

  private

  def body(fields)
    return @socket.read(fields["content-length"].to_i) if fields.key?("content-length")

    parts = +""
    while (size = @socket.gets("\r\n").hex).positive?
      parts << @socket.read(size)
      @socket.read(2)
    end
    @socket.read(2)
    parts
  end
end
