# frozen_string_literal: true

# Net::HTTP for servers under test: by the URL's scheme over TLS, whose certificate it trusts, and
# over HTTP/2 where Over says so.

require "net/http"

require_relative "over"
require_relative "wire"

class HTTPClient < Net::HTTP
  class << self
    # @param url [String, URI]
    # @param options [Hash] of Net::HTTP.start
    # @yieldparam http [HTTPClient]
    def open(url, **options, &block)
      uri = URI(url)
      start(uri.hostname, uri.port, use_ssl: uri.scheme == "https", **options, &block)
    end

    # @return [HTTPClient] that is not connected yet
    def to(url)
      uri = URI(url)
      new(uri.hostname, uri.port).tap { |http| http.use_ssl = uri.scheme == "https" }
    end
  end

  private

  def connect
    self.verify_mode = OpenSSL::SSL::VERIFY_NONE
    return super unless Over.http2?

    url = "#{use_ssl? ? "https" : "http"}://#{address.include?(":") ? "[#{address}]" : address}"
    @socket = Net::BufferedIO.new(Wire.socket("#{url}:#{port}"), read_timeout: @read_timeout,
                                  write_timeout: @write_timeout,
                                  continue_timeout: @continue_timeout)
    on_connect
  end
end
