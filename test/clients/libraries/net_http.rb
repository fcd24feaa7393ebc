# frozen_string_literal: true

# Ruby's own, as this Ruby brings it.

require_relative "../support/http_checks"

Clients.library("net-http (Ruby's own)", Clients::HttpChecks) do
  gem nil
  requires "net/http", "openssl"

  define(:start) do |uri, **options, &block|
    options = { use_ssl: uri.scheme == "https", ca_file: ca_file, max_retries: 0, **options }
    Net::HTTP.start(uri.host, uri.port, nil, nil, nil, nil, options, &block)
  end
  define(:get) do |url|
    URI(url).then { |uri| start(uri) { |http| http.get(uri.request_uri).body } }
  end
  define(:get_within) do |url, seconds|
    URI(url).then do |uri|
      start(uri, read_timeout: seconds) { |http| http.get(uri.request_uri).body }
    end
  end
  define(:timeout_errors) { [Net::ReadTimeout] }
  define(:refused_errors) { [Errno::ECONNREFUSED] }
  define(:dropped_errors) { [EOFError, Errno::ECONNRESET] }

  # A Net::HTTP object is one connection; each fiber keeps its own.
  define(:shared) do |&block|
    mine = {}.compare_by_identity
    block.call(lambda do |url|
      uri = URI(url)
      http = mine[Fiber.current] ||= Net::HTTP.new(uri.host, uri.port).tap do |made|
        made.keep_alive_timeout = 30
      end
      http.start unless http.started?
      response = http.get(uri.request_uri)
      [response.body, response]
    end)
  ensure
    mine.each_value { |http| http.finish if http.started? }
  end

  check(:thousand, "1000 inside at once, by name") do
    each_its_own(1000) do |mine|
      Net::HTTP.get(URI(url(gate_path("thousand", 1000, mine), host: "localhost")))
    end
  end
end
