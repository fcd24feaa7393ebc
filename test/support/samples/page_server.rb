# frozen_string_literal: true

# A server of pages in the process of a sample, for frames in in/ whose samples ask one.

require "socket"

LISTENER = TCPServer.new("127.0.0.1", 0)
Thread.new do
  loop do
    client = LISTENER.accept
    nil until client.gets == "\r\n"
    client.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\npage")
    client.close
  end
end
PAGE = "http://127.0.0.1:#{LISTENER.addr[1]}/".freeze

def urls = [PAGE, PAGE, PAGE]
