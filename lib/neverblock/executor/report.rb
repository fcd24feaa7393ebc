# frozen_string_literal: true

# The parts of an executor that run seldom: what it says when an application fails. (binding/executor/executor.c serves.)

require "stringio"
require "neverblock/boot/limits"
require "neverblock/verbs/deadline/of_request"
require "neverblock/executor/dropped_fields"
require "neverblock/executor/interruption"
require "neverblock/log/characters"
require "neverblock/pool/fiber_state"
require "neverblock/rack/error_stream"
require "neverblock/rack/no_input"
require "neverblock/rack/spooled_input"
require "neverblock/rack/stream_input"

module NeverBlock
  class Executor
    # The folder whose lines are never where the application waited.
    OURS = File.expand_path("..", __dir__)
    private_constant :OURS

    private

    # An entry for a request that failed; one line for one that was ended from outside, and none where its client left and nothing went wrong by that, or
    # its time was over before the application was called.
    # @param error [Exception]
    # @param env [Hash, nil] nil when it failed before there was one
    # @return [Boolean, Symbol] whether the end of its time is behind it; :unbegun: so it is, and the application was not called
    def report(error, env)
      interruption = Interruption.of(error)
      expired = interruption.is_a?(DeadlineExceeded)
      return :unbegun if expired && !interruption.deadline.begun?

      if expired && (error.equal?(interruption) || error.is_a?(Cancelled))
        log&.warn("#{request(env)}: #{interruption.message}#{place(error)}", **id(env))
      elsif interruption && !expired
        log&.info("#{request(env)}: its client has left; it ended by #{error.class}: #{error.message}#{place(error)}", **id(env)) unless error.equal?(interruption)
      else
        log&.error("#{request(env)} failed", error, **id(env))
      end
      expired
    end

    def request(env)
      env ? "#{env["REQUEST_METHOD"]} #{Log::Characters.target(env["PATH_INFO"])} (#{env["neverblock.request_id"]})" : "a request"
    end

    def id(env)
      { request_id: env && env["neverblock.request_id"] }.compact
    end

    # Where the application waited.
    def place(error)
      line = error.backtrace&.find { |entry| !entry.start_with?(OURS) }
      line ? "; at #{line}" : ""
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

    # One line in each process for a field whose name has an underscore, which the application is not given.
    # @param name [String] its first bytes, as the client wrote them
    # @param env [Hash]
    def report_dropped(name, env)
      return unless log && DroppedFields::SEEN.new?(name)

      log.warn("#{request(env)}: its field #{name} is dropped, since #{name.tr("_", "-")} would have the same key; docs/guides/http.md#fields (said once for each name)", **id(env))
    end

    def error_stream(log)
      ErrorStream.new(log&.passages || $stderr)
    end
  end
end
