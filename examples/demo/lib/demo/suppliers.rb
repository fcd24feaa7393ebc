# frozen_string_literal: true

# Asks the slow services by plain Net::HTTP, one after the other, as code for one request at a time
# does.

require "json"
require "net/http"
require "uri"

module Demo
  class Suppliers
    # What there is, and how long each takes.
    DELAYS_S = { "price" => 0.3, "stock" => 0.4, "reviews" => 0.5 }.freeze
    TIMEOUT_S = 20

    class Unavailable < StandardError; end

    # What a service says about a product; made up, but always the same.
    def self.answer(name, id)
      case name
      when "price" then format("%d.%02d", 5 + (id * 7 % 90), id * 13 % 100)
      when "stock" then id * 31 % 40
      when "reviews" then ["Does what it says.", "Waited long for it, never blocked.",
                           "Would order again."].rotate(id).first(1 + (id % 3))
      end
    end

    # @param url [String, nil] of the process with the services
    def initialize(url)
      @url = url
    end

    # @param id [Integer] a product
    # @return [Hash{String => Object}] each service's answer
    # @raise [Unavailable]
    def all(id)
      DELAYS_S.keys.to_h { |name| [name, ask(name, id)] }
    end

    # @param name [String] of a service
    # @param id [Integer] a product
    # @return [Object] its answer
    # @raise [Unavailable]
    def ask(name, id)
      raise Unavailable, "no services are running: start the demo with bin/demo" unless @url

      uri = URI("#{@url}/#{name}/#{id}")
      response = Net::HTTP.start(uri.host, uri.port, open_timeout: TIMEOUT_S,
                                 read_timeout: TIMEOUT_S) { |http| http.get(uri.request_uri) }
      raise Unavailable, "#{uri} answered #{response.code}" unless response.is_a?(Net::HTTPOK)

      JSON.parse(response.body).fetch("answer")
    rescue SystemCallError, IOError, Timeout::Error => e
      raise Unavailable, "#{uri}: #{e.message}"
    end
  end
end
