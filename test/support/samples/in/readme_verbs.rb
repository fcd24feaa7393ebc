# frozen_string_literal: true

# What the sample of README.md calls, but for what the sample requires itself: a program of a new
# user has nothing else.

require "socket"
require "stringio"

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

API = Object.new
def API.user(number) = "user #{number}"
def API.orders(number) = ["order of #{number}"]
def API.call = sleep(0)
def api = API
def slow_service = API

# A fiber's exception is told there and ends nobody else.
TOLD = $stderr = StringIO.new
# SAMPLE
$stderr = STDERR
abort("a fiber has failed: #{TOLD.string}") unless TOLD.string.empty?
