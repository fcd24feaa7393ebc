# frozen_string_literal: true

require_relative "../support/http_checks"

Clients.library("excon", Clients::HttpChecks) do
  requires "excon"

  define(:options) { { ssl_ca_file: ca_file } }
  define(:get) { |url| Excon.get(url, **options).body }
  define(:get_within) { |url, seconds| Excon.get(url, **options, read_timeout: seconds).body }
  define(:timeout_errors) { [Excon::Error::Timeout] }
  define(:refused_errors) { [Excon::Error::Socket] }
  define(:dropped_errors) { [Excon::Error::Socket] }

  note "a persistent connection keeps a socket for each thread, so that fibers were given each " \
       "other's answers; lib/neverblock/compat/excon.rb gives each " \
       "fiber's request one of its own"

  define(:shared) do |&block|
    uri = URI(url("/"))
    client = Excon.new("#{uri.scheme}://#{uri.host}:#{uri.port}", persistent: true, **options)
    block.call(->(url) {
      client.get(path: URI(url).path).then { |response| [response.body, response.headers] }
    })
  end
end
