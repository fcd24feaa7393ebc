# frozen_string_literal: true

# `neverblock advise`: what a running server's requests waited for that they need not have.

require "json"
require "neverblock/cli/advise_options"
require "neverblock/cli/output"
require "neverblock/watch/client"

module NeverBlock
  module CLI
    class Advise
      include Output

      # @param argv [Array<String>] what follows the command
      # @param out [IO]
      def initialize(argv, out: $stdout)
        @options = AdviseOptions.new("advise", argv)
        @out = out
      end

      # @return [Integer] exit status
      # @raise [Error]
      def run
        return show(@options.help_text) if @options.help

        require "neverblock/watch/advice/report" # raises without the gem prism

        report = Watch::Advice::Report.ask(Watch::Client.new(@options.address),
                                           least_s: @options.least_s)
        report.keep { |advice| @options.show?(advice) }
        show(@options.json ? "#{JSON.generate(report.to_h)}\n" : report.to_s)
      end
    end
  end
end
