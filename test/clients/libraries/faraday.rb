# frozen_string_literal: true

require_relative "../support/http_checks"

# Faraday asks through an adapter; what each adapter keeps of its connections is its own affair.
module FaradayCalls
  def connection(**options)
    ::Faraday.new(ssl: { ca_file: ca_file }, request: options) do |faraday|
      faraday.adapter(adapter)
    end
  end

  def get(url)
    connection.get(url).body
  end

  def get_within(url, seconds)
    connection(timeout: seconds).get(url).body
  end

  def shared
    client = connection
    yield(->(url) { client.get(url).then { |response| [response.body, response.headers] } })
  end

  def timeout_errors
    [::Faraday::TimeoutError]
  end

  def refused_errors
    [::Faraday::ConnectionFailed]
  end

  def dropped_errors
    [::Faraday::ConnectionFailed]
  end
end

Clients.library("faraday", Clients::HttpChecks, FaradayCalls) do
  requires "faraday"
  define(:adapter) { :net_http }
  # This adapter opens a connection for each request.
  without(*Clients::HttpChecks::SHARED)
end

Clients.library("faraday-net_http_persistent", Clients::HttpChecks, FaradayCalls) do
  requires "faraday", "faraday/net_http_persistent"
  define(:adapter) { :net_http_persistent }
end
