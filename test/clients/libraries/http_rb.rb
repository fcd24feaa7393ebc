# frozen_string_literal: true

require_relative "../support/http_checks"

Clients.library("http", Clients::HttpChecks) do
  requires "http"

  define(:context) { OpenSSL::SSL::SSLContext.new.tap { |it| it.set_params(ca_file: ca_file) } }
  define(:get) do |url|
    HTTP.get(url, **(url.start_with?("https") ? { ssl_context: context } : {})).to_s
  end
  define(:get_within) do |url, seconds|
    HTTP.timeout(connect: 5, write: 5, read: seconds).get(url).to_s
  end
  define(:timeout_errors) { [HTTP::TimeoutError] }
  define(:refused_errors) { [HTTP::ConnectionError] }
  define(:dropped_errors) { [HTTP::ConnectionError] }

  note "a persistent client whose answer was not read to its end refuses every further request, " \
       "until it is closed (HTTP::StateError): close it in an `ensure`"

  define(:ask) do |client, path|
    response = client.get(path)
    [response.to_s, response.headers.to_h.transform_keys(&:downcase)]
  end

  # A persistent client is one connection, so each fiber keeps its own.
  define(:shared) do |&block|
    mine = {}.compare_by_identity
    block.call(lambda do |url|
      client = mine[Fiber.current] ||= HTTP.persistent(url(""))
      ask(client, URI(url).path).tap { client = nil }
    ensure
      client&.close
    end)
  ensure
    mine.each_value(&:close)
  end
end
