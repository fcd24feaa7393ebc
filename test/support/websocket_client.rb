# frozen_string_literal: true

# A WebSocket client in a process of its own: says each of its words to the echo at URL by
# async-websocket and prints the answers as JSON. Over https:// it trusts every certificate.
#
#   ruby websocket_client.rb URL CONNECTIONS WORD...

require "async"
require "async/barrier"
require "async/http/endpoint"
require "async/websocket/client"
require "json"

url, connections, *words = ARGV

def converse(endpoint, words)
  Async::WebSocket::Client.connect(endpoint) do |connection|
    words.map do |word|
      connection.send_text(word)
      connection.flush
      connection.read.to_str
    end
  end
end

Sync do
  protocols = Async::HTTP::Protocol::HTTP11.names
  trusting = OpenSSL::SSL::SSLContext.new
  trusting.alpn_protocols = protocols
  trusting.verify_mode = OpenSSL::SSL::VERIFY_NONE
  endpoint = Async::HTTP::Endpoint.parse(url, alpn_protocols: protocols, ssl_context: trusting)
  barrier = Async::Barrier.new
  tasks = Array.new(connections.to_i) do |number|
    barrier.async { converse(endpoint, words.map { |word| "#{word} #{number}" }) }
  end
  barrier.wait
  puts JSON.generate(tasks.map(&:wait))
end
