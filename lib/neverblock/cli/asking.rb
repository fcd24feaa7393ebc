# frozen_string_literal: true

# A command that asks the running server for something that takes long (`neverblock reload`,
# `neverblock upgrade`): shows the progress, and reports the result. A class that extends it has
# NAME, #report and #refused.

require "neverblock/cli/output"
require "neverblock/cli/process_options"
require "neverblock/cli/running_server"

module NeverBlock
  module CLI
    class Asking
      include Output

      # @param argv [Array<String>] what follows the command
      # @param env [Hash, ENV]
      # @param out [IO]
      def initialize(argv, env: ENV, out: $stdout)
        @options = ProcessOptions.new(self.class::NAME, argv)
        @env = env
        @out = out
      end

      # @return [Integer] 0 when the server has done it
      # @raise [Error] with the reason when it has not
      def run
        return show(@options.help_text) if @options.help

        server = RunningServer.new(@options.pidfile(@env))
        answer = server.control.ask(self.class::NAME) { |line| show("#{line}\n") }
        show("#{report(answer, format("%.1f", answer[:seconds].to_f), server.pid)}\n")
      rescue Server::Control::Client::Gone => e
        raise Error, refused(server.pid, server.alive?, e.message)
      end
    end
  end
end
