# frozen_string_literal: true

require "uri"

module NeverBlock
  module Bench
    # Connections one after the other, each with a request or without: whether they resume the
    # session of the first, and the path, or nil.
    Handshakes = Struct.new(:resumed, :path, keyword_init: true) do
      def initialize(resumed: false, path: nil)
        super
        freeze
      end

      # @return [Integer] of the load generator
      def threads = 1
    end

    # The load generator of TLS handshakes: runs `openssl s_time`, one client. A session of TLS 1.3
    # comes after the handshake: without a request nothing is read, and nothing resumes.
    class HandshakeClient
      MISSING = "openssl is not installed: install the package openssl"
      # Seconds s_time may run over its time.
      GRACE_SECONDS = 20

      # s_time prints a letter for each connection.
      FULL = "*"
      RESUMED = "r"
      MARKS = /^[*r]+$/
      SUMMARY = /^(\d+) connections in \d+ real seconds, (\d+) bytes read per connection/

      class << self
        # @param text [String] all of s_time's output
        # @param load [Handshakes]
        # @param seconds [Numeric] for how long it connected
        # @param cpu_seconds [Float, nil] CPU time of s_time itself
        # @return [Wrk::Outcome] an error is each connection that was to resume and did not
        # @raise [Error] when the output has no summary
        def parse(text, load, seconds:, cpu_seconds: nil)
          count, bytes = text.match(SUMMARY)&.captures&.map(&:to_i)
          unless count
            raise Error, "openssl s_time gave no summary; its output: " \
                         "#{text.strip.lines.last(3).join.strip[0, 300]}"
          end

          marks = text.scan(MARKS).join
          other = marks.count(load.resumed ? FULL : RESUMED)
          Wrk::Outcome.new(requests: count, seconds: seconds.to_f, bytes: bytes * count,
                           errors: { "other handshake" => other }, latency_us: {},
                           cpu_seconds: cpu_seconds)
        end

        # @return [String, nil] OpenSSL's version; nil when it is not installed
        def version
          IO.popen(%w[openssl version], err: %i[child out], &:read)[/OpenSSL (\S+)/, 1]
        rescue Errno::ENOENT
          nil
        end
      end

      # @param load [Handshakes]
      # @param url [String] of the server, without path
      # @param seconds [Numeric] s_time takes whole ones
      # @return [Wrk::Outcome]
      # @raise [Error] when s_time fails or does not end
      def run(load, url:, seconds:)
        before = Child.cpu_seconds
        text = Child.capture(command(load, url, seconds), limit_seconds: seconds + GRACE_SECONDS)
        self.class.parse(text, load, seconds: seconds.ceil,
                                     cpu_seconds: Child.cpu_seconds - before)
      rescue Errno::ENOENT
        raise Error, MISSING
      end

      # @return [Array<String>] the command line
      def command(load, url, seconds)
        address = URI(url)
        ["openssl", "s_time", "-connect", "#{address.host}:#{address.port}",
         load.resumed ? "-reuse" : "-new", "-time", seconds.ceil.to_s,
         *(["-www", load.path] if load.path)]
      end
    end
  end
end
