# frozen_string_literal: true

# An entry in the log for each request the application has answered (log_requests). It stands around the application only where it is asked for, and writes when
# the response is done (rack.response_finished), so that a body which takes long is counted with its time.

require "neverblock/verbs/deadline"
require "neverblock/executor/interruption"
require "neverblock/log/characters"

module NeverBlock
  class RequestLog
    # @param app [#call]
    # @param config [Config]
    # @param log [Log]
    # @return [#call] the application, with a log of its requests around it where the configuration says so
    def self.around(app, config, log)
      config.log_requests ? new(app, log, shape(config, log)) : app
    end

    # @param config [Config]
    # @param log [Log]
    # @return [Log::Json, nil] JSON where only the entries of requests are to be that
    def self.shape(config, log)
      log.json if config.log_requests == :json
    end

    # @param app [#call]
    # @param log [Log]
    # @param shape [Log::Json, nil] what to write entries with, when not as the log writes all others
    def initialize(app, log, shape = nil)
      @app = app
      @log = log
      @shape = shape
    end

    # As Rack has it; parks where the application does.
    # @return [Array] the application's answer
    def call(env)
      began = Deadline.now
      request = { method: env["REQUEST_METHOD"], target: Log::Characters.target(env["REQUEST_URI"]) } # before a middleware changes what it sees
      env["rack.response_finished"] << ->(_env, status, _headers, error) { finished(env, request, status, error, began) }
      @app.call(env)
    end

    private

    # An application that failed gave no status: what its client sees, or would if it had not left, stands for it.
    def finished(env, request, status, error, began)
      fields = { **request, status: status || Executor::Interruption.status(error), duration_ms: ((Deadline.now - began) * 1_000).round(3), remote_addr: env["REMOTE_ADDR"],
                 request_id: env["neverblock.request_id"] }
      fields[:error] = error.class.to_s if error
      @log.request(fields, @shape)
    end
  end
end
