# frozen_string_literal: true

# The server's own figures, from its admin address (/status.json). The application fetches them for
# the page, because the admin address is for operators and stays on this machine.
# The server answers it without Ruby. Without bin/demo there is no admin address, and so no figures.

require "json"
require "net/http"
require "uri"

module Demo
  class ServerFigures
    TIMEOUT_S = 2
    PARTS = %w[neverblock state connections requests latency_s loop bytes].freeze

    # @param address_file [String, nil] a file with the demo's address and its admin address, from
    #   the launcher
    def initialize(address_file)
      @address_file = address_file
    end

    # Parks.
    # @return [Hash{String => Object}, nil] what the page shows; nil without an admin address or an
    #   answer
    def to_h
      uri = address or return
      response = Net::HTTP.start(uri.host, uri.port, open_timeout: TIMEOUT_S,
                                 read_timeout: TIMEOUT_S) { |http| http.get("/status.json") }
      JSON.parse(response.body).slice(*PARTS) if response.is_a?(Net::HTTPOK)
    rescue SystemCallError, IOError, Timeout::Error, JSON::ParserError
      nil
    end

    private

    def address
      return unless @address_file && File.exist?(@address_file)

      line = File.readlines(@address_file)[1].to_s.strip
      URI(line) if line.start_with?("http://")
    end
  end
end
