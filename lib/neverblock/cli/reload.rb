# frozen_string_literal: true

# `neverblock reload`: has a running server take new code, and says how that went.

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
      # @raise [Error] why it does not
      def run
        return show(@options.help_text) if @options.help

        server = RunningServer.new(@options.pidfile(@env))
        answer = server.control.ask("reload") { |line| show("#{line}\n") }
        show("reloaded in #{format("%.1f", answer[:seconds].to_f)} s#{workers(answer[:workers].to_a)}\n")
      rescue Server::Control::Client::Gone => e
        raise Error, "process #{server.pid} has ended before it had reloaded; its log says why" unless server.alive?

        raise Error, "process #{server.pid} cannot say how a reload goes (#{e.message}): kill -HUP #{server.pid} reloads, and its log tells the rest"
      end

      private

      def workers(list)
        pids = list.grep(Hash).reject { |worker| worker[:state] == "retiring" }.map { |worker| worker[:pid] }
        return "" if pids.empty?

        "; #{pids.size > 1 ? "workers are processes" : "its worker is process"} #{pids.join(", ")}"
      end
    end
  end
end
