# frozen_string_literal: true

# The parts of an executor that run seldom: log entries for applications that fail. The executor
# itself is in binding/executor/executor.c.

require "stringio"
require "neverblock/boot/limits"
require "neverblock/verbs/deadline/of_request"
require "neverblock/executor/async"
require "neverblock/executor/blame"
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
    # The folder of our own code, which is skipped in backtraces.
    OURS = File.expand_path("..", __dir__)
    # Characters of a field's name that are logged.
    NAME_SHOWN = 80
    private_constant :OURS, :NAME_SHOWN

    private

    # Logs a request that has failed. One that was ended from outside gets one line. Nothing is
    # logged when its client left and no other error came of it, or when its deadline passed before
    # the application was called.
    # @param error [Exception]
    # @param env [Hash, nil] nil when it failed before there was one
    # @return [Symbol, nil] :expired or :cancelled; :unbegun: its deadline had passed before the
    #   application was called; nil: another error, or its client has left
    def report(error, env)
      interruption = Interruption.of(error)
      return report_client_gone(error, interruption, env) if interruption.is_a?(ClientGone)

      how = how_ended(interruption)
      return how if how == :unbegun

      if how && (error.equal?(interruption) || error.is_a?(Cancelled))
        log&.warn("#{request(env)}: #{interruption.message}#{place(error)}", **id(env))
      else
        log&.error("#{request(env)} failed#{waiting(error)}", error, **id(env))
      end
      how
    end

    def how_ended(interruption)
      case interruption
      when RequestCancelled then :cancelled
      when DeadlineExceeded then interruption.deadline.begun? ? :expired : :unbegun
      end
    end

    # @return [nil]
    def report_client_gone(error, interruption, env)
      return if error.equal?(interruption)

      log&.info("#{request(env)}: its client has left; " \
                "it ended by #{error.class}: #{Log::Characters.utf8(error.message)}" \
                "#{place(error)}", **id(env))
      nil
    end

    # Logs, in one line, a request whose error could not be reported.
    # @param method [String]
    # @param path [String]
    # @param error [String] the error's class
    # @param raised [String] the class of what reporting it has raised
    # @return [void]
    def report_untold(method, path, error, raised)
      log&.error("#{method} #{Log::Characters.target(path)} failed: #{error}; " \
                 "it cannot be told: that raised #{raised}")
    end

    def request(env)
      return "a request" unless env

      target = Log::Characters.target(env["PATH_INFO"])
      "#{env["REQUEST_METHOD"]} #{target} (#{env["neverblock.request_id"]})"
    end

    def id(env)
      return {} unless env

      { request_id: env["neverblock.request_id"], trace_id: env["neverblock.trace_id"] }.compact
    end

    # The trace that follows begins in the library that waited, where one did.
    # @return [String] the application's line, where a deadline has ended it
    def waiting(error)
      late = Causes.of(error).find { |one| one.is_a?(DeadlineExceeded) } or return ""
      lines = outside(late)
      line = Blame.line(lines) unless lines.empty?
      line == lines.first ? "" : ", waiting at #{line}"
    end

    def outside(error)
      error.backtrace.to_a.reject { |entry| entry.start_with?(OURS) }
    end

    # @return [String] the line of the application that waited, and that of the library it was in
    def place(error)
      lines = outside(error)
      return "" if lines.empty?

      line = Blame.line(lines)
      "; at #{line}#{", in #{lines.first}" unless line == lines.first}"
    end

    # Logs an exception that met no request. A second one from outside waits until it is logged.
    # @param error [Exception]
    # @return [void]
    def report_stray(error)
      whose = "raised into the executor's thread from outside while it ran no request"
      whose += ", or in a fiber that no request waits for" unless error.is_a?(StandardError)
      Thread.handle_interrupt(Exception => :never) do
        log&.error("#{whose}; requests go on", error)
      rescue Exception => e # rubocop:disable Lint/RescueException -- the error's own methods'
        log&.error("#{whose}; requests go on: #{error.class}; " \
                   "it cannot be told: that raised #{e.class}")
      end
    end

    # Logs, in one line, that there was no fiber for a request.
    # @param possible [Integer] most requests at once from now on
    # @param error [Exception] the cause
    # @return [void]
    def report_fewer(possible, error)
      log&.warn("no more than #{possible} requests run at once from here on: " \
                "#{Boot::Limits.explain(error).message}")
    end

    # Logs, once for each name in a process, a field whose name has an underscore. The application
    # does not get it.
    # @param name [String] its first bytes, as the client wrote them
    # @param env [Hash]
    # @return [void]
    def report_dropped(name, env)
      return unless log && DroppedFields::SEEN.new?(name)

      other = name.tr("_", "-")
      log.warn("#{request(env)}: its field #{name} is dropped, " \
               "since #{other} would have the same key; " \
               "docs/guides/http.md#fields (said once for each name)", **id(env))
    end

    # Logs, once for each name in a process, a field of a response that is addressed to the server,
    # and that the server does not know. The client does not get it.
    # @param name [String]
    # @param env [Hash]
    # @return [void]
    def report_left_out(name, env)
      shown = Log::Characters.scrubbed(name)[0, NAME_SHOWN]
      return unless log && DroppedFields::LEFT_OUT.new?(shown)

      log.warn("#{request(env)}: the response's field #{shown.inspect} is left out: " \
               "such names are for the server, which does not know this one " \
               "(said once for each name)", **id(env))
    end

    def error_stream(log)
      ErrorStream.new(log&.passages || $stderr)
    end
  end
end
