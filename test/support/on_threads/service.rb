# frozen_string_literal: true

require "json"
require "socket"

module OnThreads
  # What programs fetch: an answer is the path, or JSON with it, after a moment.
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
        headers = headers(client)
        client.read(headers["content-length"].to_i)
        sleep(MOMENT_S)
        answer(client, path, headers)
      end
    rescue SystemCallError, IOError
      nil # it has left
    ensure
      client.close
    end

    private

    def headers(client)
      lines = []
      lines << $_.chomp until client.gets.to_s.chomp.empty?
      lines.to_h { |line| line.split(": ", 2) }.transform_keys(&:downcase)
    end

    # The path, or what an API would say of it.
    def answer(client, path, headers)
      json = headers["accept"].to_s.include?("json") || path.start_with?("/v1/")
      id = path[%r{[^/?]+(?=\z|\?)}]
      body = json ? JSON.generate("id" => id, "object" => "customer", "path" => path) : path[1..]
      client.write("HTTP/1.1 200 OK\r\n" \
                   "Content-Type: #{json ? "application/json" : "text/plain"}\r\n" \
                   "X-Elastic-Product: Elasticsearch\r\n" \
                   "Content-Length: #{body.bytesize}\r\n\r\n#{body}")
    end
  end
end
