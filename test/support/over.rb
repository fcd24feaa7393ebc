# frozen_string_literal: true

# What the tests speak with their servers: NB_TEST_OVER says it, for all of them.
#
#   plain (default)  HTTP/1.1 over TCP
#   tls              HTTP/1.1 over TLS
#   h2               HTTP/2: over TLS by ALPN; with what listens on http:// or unix://, by prior
#                    knowledge
#
# A server gets its addresses by Over.bind. Its clients are Wire, HTTPClient, Over.curl and
# Over.socket, which all look here. A test that is about one of them says so: Over::Declarations.

require "fileutils"
require "minitest"
require "tmpdir"

require_relative "self_signed_certificate"
require_relative "tls_client"

module Over
  MODES = %i[plain tls h2].freeze

  class << self
    # @return [Symbol] of MODES
    # @raise [ArgumentError] for another word in NB_TEST_OVER
    def mode
      @mode ||= begin
        word = ENV.fetch("NB_TEST_OVER", "plain")
        MODES.find { |name| name.to_s == word } or
          raise ArgumentError, "NB_TEST_OVER is #{word.inspect}; it takes #{MODES.join(", ")}"
      end
    end

    # @return [String] "http" or "https"
    def scheme
      mode == :plain ? "http" : "https"
    end

    # @param url [String] where a server is to listen over TCP or a UNIX socket
    # @return [String] the same in this mode; over TLS with a certificate of the tests
    def bind(url)
      return url if mode == :plain || !url.start_with?("http:")

      "#{url.sub("http:", "https:")}?cert=#{certificate}/cert.pem&key=#{certificate}/key.pem"
    end

    def http2?
      mode == :h2
    end

    # @return [String] of a header field, as it comes (RFC 9113 section 8.2)
    def field(name)
      http2? ? name.downcase : name
    end

    # @return [String] for SERVER_PROTOCOL
    def protocol
      http2? ? "HTTP/2" : "HTTP/1.1"
    end

    # @return [String] what a text log has of the protocol, behind the target; HTTP/1 is not named
    def logged
      http2? ? " HTTP/2" : ""
    end

    # A connection for HTTP/1.1 in every mode: WebSockets begin with it, in browsers as well.
    # @param url [String] http:// or https://
    # @return [TCPSocket, OpenSSL::SSL::SSLSocket]
    def socket(url)
      uri = URI(url)
      return TCPSocket.new(uri.host, uri.port) unless uri.scheme == "https"

      TLSClient.new(url, protocols: ["http/1.1"]).socket
    end

    # The words of a command that asks this URL with curl. It trusts every certificate.
    # @return [Array<String>]
    def curl(url)
      secure = url.start_with?("https:")
      version = if http2?
                  secure ? "--http2" : "--http2-prior-knowledge"
                else
                  "--http1.1"
                end
      ["curl", "-k", version]
    end

    private

    # @return [String] a folder, for the run
    def certificate
      @certificate ||= Dir.mktmpdir("neverblock-certificate").tap do |folder|
        made = SelfSignedCertificate.new
        File.write(File.join(folder, "cert.pem"), made.pem)
        File.write(File.join(folder, "key.pem"), made.key_pem)
        Minitest.after_run { FileUtils.rm_rf(folder) }
      end
    end
  end

  # What a test is about.
  module Declarations
    def self.included(base)
      base.singleton_class.prepend(ForClasses)
    end

    module ForClasses
      # In the other modes one skip stands for all tests of the class.
      # @param modes [Array<Symbol>] of MODES
      # @param why [String] what the tests are about
      def only_over(*modes, why)
        @only_over = [modes, why]
      end

      # @return [Array(Array<Symbol>, String), nil] also of a class that it descends from
      def told_only_over
        @only_over || (superclass.told_only_over if superclass.respond_to?(:told_only_over))
      end

      def runnable_methods
        modes, = told_only_over
        modes.nil? || modes.include?(Over.mode) || super.empty? ? super : %w[of_another_mode]
      end
    end

    # Before the test's own set-up, which may be impossible in another mode.
    def before_setup
      super
      only_over(*self.class.told_only_over.flatten) if self.class.told_only_over
    end

    # What stands in place of the class's tests; its set-up skips.
    def of_another_mode; end

    private

    # The same for the test that calls it.
    def only_over(*modes, why)
      unknown = modes - MODES
      raise ArgumentError, "only_over takes #{MODES.inspect}, not #{unknown}" unless unknown.empty?

      skip "only over #{modes.join(" and ")}: #{why}" unless modes.include?(Over.mode)
    end
  end
end

Minitest::Test.include(Over::Declarations)
