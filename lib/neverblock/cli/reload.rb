# frozen_string_literal: true

# `neverblock reload`: makes a running server load new code, and reports the result.

require "neverblock/cli/output"
require "neverblock/cli/process_options"
require "neverblock/cli/running_server"

module NeverBlock
  module CLI
    class Reload
      include Output

      # @param argv [Array<String>] what follows the command
      # @param env [Hash, ENV]
      # @param out [IO]
      def initialize(argv, env: ENV, out: $stdout)
        @options = ProcessOptions.new("reload", argv)
        @env = env
        @out = out
      end

      # @return [Integer] 0 when the new version serves
      # @raise [Error] with the reason when it does not
      def run
        return show(@options.help_text) if @options.help

        server = RunningServer.new(@options.pidfile(@env))
        answer = server.control.ask("reload") { |line| show("#{line}\n") }
        seconds = format("%.1f", answer[:seconds].to_f)
        show("reloaded in #{seconds} s#{workers(answer[:workers].to_a)}\n")
      rescue Server::Control::Client::Gone => e
        raise Error, explain(server, e)
      end

      private

      def explain(server, error)
        pid = server.pid
        return "process #{pid} ended before it had reloaded; see its log" unless server.alive?

        "process #{pid} cannot report on a reload (#{error.message}): " \
          "kill -HUP #{pid} reloads; see its log for the result"
      end

      def workers(list)
        serving = list.grep(Hash).reject { |worker| worker[:state] == "retiring" }
        pids = serving.map { |worker| worker[:pid] }
        return "" if pids.empty?

        subject = pids.size > 1 ? "the workers are processes" : "the worker is process"
        "; #{subject} #{pids.join(", ")}"
      end
    end
  end
end
