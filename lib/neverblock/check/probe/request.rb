# frozen_string_literal: true

# One GET request, with everything a server does for it.

require "neverblock/verbs/deadline"
require "rack/mock_request" if defined?(::Rack) && ::Rack.release >= "3"

module NeverBlock
  module Check
    class Probe
      class Request
        SECONDS = 30

        # @param app [#call]
        # @param path [String]
        def initialize(app, path)
          @app = app
          @path = path
        end

        # Runs in a fiber of its own.
        # @return [self]
        def call
          NeverBlock.all(-> { ask })
          self
        end

        def failed?
          !@error.nil? || @status.to_i >= 400
        end

        # @return [String]
        def to_s
          return "answers #{@status}" unless @error

          "raises #{@error.class}: #{@error.message.to_s.lines.first.to_s.strip}"
        end

        private

        def ask
          env = make_env
          @status, _, body = NeverBlock.deadline(SECONDS) do
            @app.call(env).tap { |answer| read(answer[2]) }
          end
          env["rack.response_finished"].reverse_each do |callback|
            callback.call(env, @status, {}, nil)
          end
        rescue StandardError, ScriptError => e
          @error = e
        ensure
          body.close if body.respond_to?(:close)
        end

        def make_env
          ::Rack::MockRequest.env_for("http://localhost#{@path}",
                                      "REMOTE_ADDR" => "127.0.0.1",
                                      "rack.response_finished" => [])
        end

        # A streaming body (`call`) is not read: it may never end.
        def read(body)
          body.each { |_part| nil } if body.respond_to?(:each)
        end
      end
    end
  end
end
