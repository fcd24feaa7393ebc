# frozen_string_literal: true

require "socket"

module OnThreads
  # What programs fetch: an answer is the path, after a moment.
  class Service
    MOMENT_S = 0.003

    attr_reader :port

    def initialize
      @server = TCPServer.new("127.0.0.1", 0)
      @port = @server.addr[1]
      @thread = Thread.new { loop { Thread.new(@server.accept) { |client| serve(client) } } }
    end

    def serve(client)
      while (path = client.gets&.split&.at(1))
        nil until client.gets.to_s.chomp.empty?
        sleep(MOMENT_S)
        client.write("HTTP/1.1 200 OK\r\nContent-Length: #{path.bytesize - 1}\r\n\r\n#{path[1..]}")
      end
    rescue SystemCallError, IOError
      nil # it has left
    ensure
      client.close
    end
  end
end
