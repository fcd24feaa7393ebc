# frozen_string_literal: true

require_relative "../support/http_checks"

Clients.library("net-http-persistent", Clients::HttpChecks) do
  requires "net/http/persistent"

  define(:with_client) do |seconds = 30, pool_size: 64, &block|
    client = Net::HTTP::Persistent.new(name: "nb", pool_size: pool_size)
    client.ca_file = ca_file
    client.read_timeout = seconds
    block.call(client)
  ensure
    client&.shutdown
  end
  define(:get) { |url| with_client { |client| client.request(URI(url)).body } }
  define(:get_within) do |url, seconds|
    with_client(seconds) { |client| client.request(URI(url)).body }
  end
  define(:shared) do |&block|
    with_client do |client|
      block.call(->(url) { client.request(URI(url)).then { |response| [response.body, response] } })
    end
  end
  define(:timeout_errors) { [Net::ReadTimeout, Net::HTTP::Persistent::Error] }
  define(:refused_errors) { [Errno::ECONNREFUSED, Net::HTTP::Persistent::Error] }
  define(:dropped_errors) { [EOFError, Errno::ECONNRESET, Net::HTTP::Persistent::Error] }

  note "gives up after 0.5 s without a free connection of its pool " \
       "(ConnectionPool::TimeoutError), which cannot be set: let `pool_size` be what is wanted " \
       "at once"

  # Whoever is told that the pool had none for half a second asks again.
  define(:ask) do |client, url|
    client.request(URI(url))
  rescue ConnectionPool::TimeoutError
    retry
  end

  check(:pool, "1000 fibers through a pool of 50 connections") do
    connections = {}
    with_client(pool_size: 50) do |client|
      each_its_own(1000) do |mine|
        response = ask(client, url("/echo/#{mine}"))
        connections[response["x-connection"]] = true
        response.body
      end
    end
    hold(connections.size <= 50, "#{connections.size} connections")
    "1000 requests on #{connections.size} connections"
  end
end
