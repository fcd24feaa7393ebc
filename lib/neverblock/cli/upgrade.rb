# frozen_string_literal: true

# `neverblock upgrade`: has a running server start a new process in its place, and reports the
# result.

require "neverblock/cli/output"
require "neverblock/cli/process_options"
require "neverblock/cli/running_server"

module NeverBlock
  module CLI
    class Upgrade
      include Output

      # @param argv [Array<String>] what follows the command
      # @param env [Hash, ENV]
      # @param out [IO]
      def initialize(argv, env: ENV, out: $stdout)
        @options = ProcessOptions.new("upgrade", argv)
        @env = env
        @out = out
      end

      # @return [Integer] 0 when the new process serves
      # @raise [Error] with the reason when it does not
      def run
        return show(@options.help_text) if @options.help

        server = RunningServer.new(@options.pidfile(@env))
        answer = server.control.ask("upgrade") { |line| show("#{line}\n") }
        seconds = format("%.1f", answer[:seconds].to_f)
        show("upgraded in #{seconds} s; process #{answer[:pid]} serves, process #{server.pid} " \
             "lets its requests end\n")
      rescue Server::Control::Client::Gone => e
        raise Error, explain(server, e)
      end

      private

      def explain(server, error)
        pid = server.pid
        return "process #{pid} ended before the upgrade; see its log" unless server.alive?

        "process #{pid} cannot report on an upgrade (#{error.message}): " \
          "kill -USR2 #{pid} upgrades; see its log for the result"
      end
    end
  end
end
