# frozen_string_literal: true

# One GET request, with everything a server does for it.

require "neverblock/config/source_error"
require "neverblock/verbs/deadline"
require "rack/mock_request" if defined?(::Rack) && ::Rack.release >= "3"

module NeverBlock
  module Check
    class Probe
      class Request
        SECONDS = 30
        HOST = "localhost"
        # What a visitor's browser sends. A development Rails refuses a request without a host, and
        # other applications one without a client's name.
        FIELDS = { "HTTP_HOST" => HOST, "HTTP_USER_AGENT" => "neverblock check --probe",
                   "HTTP_ACCEPT" => "text/html,*/*;q=0.8" }.freeze
        SUCCESS = (200..299).freeze
        REDIRECT = (300..399).freeze
        private_constant :FIELDS, :SUCCESS, :REDIRECT

        # @param app [#call]
        # @param path [String]
        # @param scheme [String] "http" or "https"
        def initialize(app, path, scheme: "http")
          @app = app
          @path = path
          @scheme = scheme
        end

        # Runs in a fiber of its own.
        # @return [self]
        def call
          NeverBlock.all(-> { ask })
          self
        end

        # @return [Boolean] whether its response is none, or another than a success
        def failed?
          !@error.nil? || !SUCCESS.cover?(@code)
        end

        # @return [Boolean] whether it is redirected to https on the same host
        def to_https?
          @scheme == "http" && redirect? &&
            @location.match?(%r{\Ahttps://#{HOST}(?::443)?(?:[/?#]|\z)}io)
        end

        # @return [String]
        def to_s
          return "raises #{@error.class}: #{SourceError.summary(@error)}" if @error
          return "answers #{@code}, a redirect to #{@location}" if redirect?

          @status.nil? ? "answers nothing" : "answers #{@status.inspect[0, 40]}"
        end

        private

        def ask
          env = make_env
          NeverBlock.deadline(SECONDS) { answer(env) }
          env["rack.response_finished"].reverse_each do |callback|
            callback.call(env, @status, {}, nil)
          end
        rescue StandardError, ScriptError, SystemStackError => e
          @error = e
        end

        def answer(env)
          @status, headers, body = @app.call(env)
          @code = @status.respond_to?(:to_i) ? @status.to_i : 0
          @location = location(headers) if REDIRECT.cover?(@code)
          read(body)
        ensure
          body.close if body.respond_to?(:close)
        end

        def make_env
          ::Rack::MockRequest.env_for("#{@scheme}://#{HOST}#{@path}",
                                      "REMOTE_ADDR" => "127.0.0.1",
                                      "SERVER_PROTOCOL" => "HTTP/1.1", **FIELDS,
                                      "rack.response_finished" => [])
        end

        # A streaming body (`call`) is not read: it may never end.
        def read(body)
          body.each { |_part| nil } if body.respond_to?(:each)
        end

        def redirect?
          !@location.nil?
        end

        # @return [String, nil]
        def location(headers)
          found = headers.find { |name, _| name.to_s.casecmp?("location") }&.last
          found && Log::Characters.scrubbed(found)
        end
      end
    end
  end
end
