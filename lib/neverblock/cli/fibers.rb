# frozen_string_literal: true

# `neverblock fibers`: what each request of a running server does and waits for.

require "json"
require "neverblock/cli/fibers_options"
require "neverblock/cli/output"
require "neverblock/watch/client"
require "neverblock/watch/fibers"
require "neverblock/watch/fiber_table"

module NeverBlock
  module CLI
    class Fibers
      include Output

      # @param argv [Array<String>] what follows the command
      # @param out [IO]
      def initialize(argv, out: $stdout)
        @options = FibersOptions.new("fibers", argv)
        @out = out
      end

      # @return [Integer] exit status
      # @raise [Error]
      def run
        return show(@options.help_text) if @options.help

        fibers = Watch::Fibers.ask(Watch::Client.new(@options.address),
                                   backtrace: @options.backtrace, query: @options.query)
        rows = fibers.rows.select { |row| @options.show?(row) }
        show(@options.json ? json(fibers, rows) : table(fibers, rows))
      end

      private

      def table(fibers, rows)
        Watch::FiberTable.new(fibers, rows, backtrace: @options.backtrace).to_s
      end

      def json(fibers, rows)
        kept = rows.map { |row| row.document.to_h }
        "#{JSON.generate(fibers.document.to_h.merge("fibers" => kept))}\n"
      end
    end
  end
end
