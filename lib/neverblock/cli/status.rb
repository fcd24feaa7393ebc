# frozen_string_literal: true

# `neverblock status`: prints a running server's figures once.

require "neverblock/cli/output"
require "neverblock/cli/watch_options"
require "neverblock/watch/client"
require "neverblock/watch/document"
require "neverblock/watch/report"

module NeverBlock
  module CLI
    class Status
      include Output

      # @param argv [Array<String>] what follows the command
      # @param out [IO]
      def initialize(argv, out: $stdout)
        @options = WatchOptions.new("status", argv)
        @out = out
      end

      # @return [Integer] 0 when the server runs and accepts requests
      # @raise [Error]
      def run
        return show(@options.help_text) if @options.help

        text = Watch::Client.new(@options.address).fetch
        document = Watch::Document.parse(text)
        show(@options.json ? "#{text.chomp}\n" : Watch::Report.new(document).to_s)
        document.running? ? OK : FAILED
      end
    end
  end
end
