# frozen_string_literal: true

require "neverblock/init/keyed"

module NeverBlock
  module Init
    # Thruster's variables, of the environment and of a Dockerfile. With its own prefix or without.
    class Thruster < Keyed
      SERVER = "Thruster"
      FILES = %w[Dockerfile].freeze
      PREFIX = "THRUSTER_"
      ADDRESS = %w[TLS_DOMAIN HTTP_PORT HTTPS_PORT].freeze
      SETTINGS = {
        "MAX_REQUEST_BODY" => "limits { body_bytes %<value>s }",
        "HTTP_IDLE_TIMEOUT" => "timeouts { idle %<value>s }",
        "HTTP_READ_TIMEOUT" => "timeouts { body %<value>s }",
        "LOG_REQUESTS" => "log_requests %<value>s",
        "GZIP_COMPRESSION_ENABLED" => "compress %<value>s"
      }.freeze
      SWITCHES = %w[LOG_REQUESTS GZIP_COMPRESSION_ENABLED].freeze
      ACME = "certificates come from Let's Encrypt; it needs the gem acme-client"
      NO_TIME = "0 is no limit there; a time is needed here"
      UNLIMITED = {
        "MAX_REQUEST_BODY" => "0 is no limit there; limits { body_bytes N } takes any number of " \
                              "bytes, without it the limit is 100 MB",
        "HTTP_IDLE_TIMEOUT" => NO_TIME, "HTTP_READ_TIMEOUT" => NO_TIME
      }.freeze
      CACHE = "there is no cache of responses: the files of public_dir are served without Ruby, " \
              "the rest is the application's"
      NEEDLESS = {
        "TARGET_PORT" => "the server is asked itself, there is no process in front of it",
        "CACHE_SIZE" => CACHE, "MAX_CACHE_ITEM_SIZE" => CACHE, "STORAGE_PATH" => CACHE,
        "HTTP_WRITE_TIMEOUT" => "timeouts { body } and { rate_min } bound slow clients",
        "BAD_GATEWAY_PAGE" => "nothing is behind this server",
        "FORWARD_HEADERS" => "nothing is in front of the application",
        "X_SENDFILE_ENABLED" => "sendfile { roots DIR } names the folders of X-Sendfile",
        "GZIP_COMPRESSION_EXCEPT_CONTENT_TYPES" => "what is compressed already is left as it is",
        "DEBUG" => "NB_DEBUG=1 shows traces",
        "H2C_ENABLED" => "HTTP/2 is on, by prior knowledge too"
      }.freeze
      MISSING = {
        "GZIP_COMPRESSION_DISABLE_ON_AUTH" =>
          "a response is compressed whoever asks: compress false turns that off",
        "GZIP_COMPRESSION_JITTER" => "no random bytes are added to what is compressed",
        "EAB_KID" => "an account that an authority has bound is not supported",
        "EAB_HMAC_KEY" => "an account that an authority has bound is not supported",
        "ACME_DIRECTORY" => "write it as tls { acme \"HOST\", directory: URL }"
      }.freeze
      KNOWN = [*ADDRESS, *SETTINGS.keys, *NEEDLESS.keys, *MISSING.keys].freeze
      ENVIRONMENT = /^\s*ENV\s+(.+)$/i.freeze
      # `NAME=VALUE`, as often as there is one, or a single `NAME VALUE`.
      PAIR = /([A-Z_][A-Z0-9_]*)=(?:"([^"]*)"|'([^']*)'|(\S+))/.freeze
      SINGLE = /\A([A-Z_][A-Z0-9_]*)\s+(.+)\z/.freeze

      class << self
        # @param text [String] of a Dockerfile
        # @return [Thruster, nil] nil: it does not start Thruster
        def read(text, name)
          return unless text.match?(/\bthrust\b/)

          new(own(variables(text)), name)
        end

        # @param values [Hash{String => String}] variables
        # @return [Hash{String => String}] those of Thruster, without the prefix
        def own(values)
          prefixed, others = values.to_h.partition { |key, _| key.start_with?(PREFIX) }
          others.to_h.merge(prefixed.to_h { |key, value| [key.delete_prefix(PREFIX), value] })
                .slice(*KNOWN)
        end

        private

        # A line goes on after a backslash; comments may stand in between.
        def variables(text)
          joined = text.gsub(/^\s*#.*\n/, "").gsub(/\\[ \t]*\r?\n/, " ")
          joined.scan(ENVIRONMENT).flatten.flat_map { |line| pairs(line.strip) }.to_h
        end

        def pairs(line)
          single = line.match(SINGLE) and return [single.captures]

          line.scan(PAIR).map { |key, *values| [key, values.compact.first] }
        end
      end

      private

      def variable?(*values) = values.join.include?("$")

      # Thruster's defaults, in the place of the process in front.
      def addresses
        domains = @values["TLS_DOMAIN"].to_s.split(",").map(&:strip)
        http = bind("http", "HTTP_PORT", 80)
        return unknown(ADDRESS) + served if variable?(*@values.values_at(*ADDRESS))
        return address(%w[HTTP_PORT], http) + served if domains.empty?

        lines = [http, bind("https", "HTTPS_PORT", 443), "redirect_https true",
                 "tls { acme #{domains.map(&:dump).join(", ")} }"]
        [entry_of(ADDRESS, Checked.translation(*lines, note: ACME))] + served
      end

      def bind(scheme, key, default)
        "bind #{"#{scheme}://0.0.0.0:#{@values.fetch(key, default)}".dump}"
      end

      def compress = @values.key?("GZIP_COMPRESSION_ENABLED") ? [] : ["compress true"]

      def served
        [Entry.new(place: @name, text: "what Thruster does by itself", indent: 0,
                   translation: Translation.carried("public_dir \"public\"", *compress))]
      end
    end
  end
end
