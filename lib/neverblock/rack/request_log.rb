# frozen_string_literal: true

# Logs each request that the application has answered (log_requests). It wraps the application only
# where that is asked for. It writes when the response is done (rack.response_finished), so that the
# duration includes the body's.

require "neverblock/verbs/deadline"
require "neverblock/executor/interruption"
require "neverblock/log/characters"
require "neverblock/log/tls_fields"

module NeverBlock
  class RequestLog
    # @param app [#call]
    # @param config [Config]
    # @param log [Log]
    # @return [#call] the application, wrapped where the configuration asks for the log
    def self.around(app, config, log)
      config.log_requests ? new(app, log, shape(config, log)) : app
    end

    # @param config [Config]
    # @param log [Log]
    # @return [Log::Json, nil] JSON where only the entries of requests have that form
    def self.shape(config, log)
      log.json if config.log_requests == :json
    end

    # @param app [#call]
    # @param log [Log]
    # @param shape [Log::Json, nil] the form of the entries; nil: that of the log
    def initialize(app, log, shape = nil)
      @app = app
      @log = log
      @shape = shape
    end

    # The Rack application. Parks where the wrapped one does.
    # @return [Array] the application's answer
    def call(env)
      began = Deadline.now
      # Taken now, since a middleware may change the env.
      target = Log::Characters.target(env["REQUEST_URI"])
      request = { method: env["REQUEST_METHOD"], target: target,
                  protocol: env["SERVER_PROTOCOL"] }
      request.update(Log::TLSFields.of(env["neverblock.tls"])) if env.key?("neverblock.tls")
      env["rack.response_finished"] << lambda do |_env, status, _headers, error|
        finished(env, request, status, error, began)
      end
      @app.call(env)
    end

    private

    # An application that failed has no status. The client's status counts then, or the one it would
    # have got if it had not left.
    def finished(env, request, status, error, began)
      fields = {
        **request,
        status: status || Executor::Interruption.status(error),
        duration_ms: ((Deadline.now - began) * 1_000).round(3),
        remote_addr: env["REMOTE_ADDR"],
        request_id: env["neverblock.request_id"]
      }
      trace_id = env["neverblock.trace_id"]
      fields[:trace_id] = trace_id if trace_id
      fields[:error] = error.class.to_s if error
      fields.update(env["neverblock.time"]) if env.key?("neverblock.time")
      @log.request(fields, @shape)
    end
  end
end
