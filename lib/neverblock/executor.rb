# frozen_string_literal: true

# The parts of an executor that run seldom: what it says when an application fails. (binding/executor.c serves.)

require "stringio"
require "neverblock/boot/limits"
require "neverblock/error_stream"
require "neverblock/rack/no_input"
require "neverblock/rack/stream_input"

module NeverBlock
  class Executor
    private

    # One entry for a request that failed.
    # @param error [Exception]
    # @param env [Hash, nil] nil when it failed before there was one
    def report(error, env)
      return log&.error("a request failed", error) unless env

      id = env["neverblock.request_id"]
      log&.error("#{env["REQUEST_METHOD"]} #{env["PATH_INFO"]} (#{id}) failed", error, request_id: id)
    end

    # One entry for an error that was raised into the thread while it ran no request.
    # @param error [Exception]
    def report_stray(error)
      log&.error("raised into the executor's thread from outside while it ran no request; requests go on", error)
    end

    # One line when there was no fiber for a request.
    # @param possible [Integer] requests at once from here on
    # @param error [Exception] why
    def report_fewer(possible, error)
      log&.warn("no more than #{possible} requests run at once from here on: #{Boot::Limits.explain(error).message}")
    end

    def error_stream(log)
      ErrorStream.new(log&.passages || $stderr)
    end
  end
end
