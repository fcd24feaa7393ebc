# frozen_string_literal: true

# The blocks of before_fork and after_fork: calls them, and names one that has failed. In a single
# process nothing is forked. There after_fork is called once before it serves, as connections and
# threads are opened there, and before_fork is not called.

require "neverblock/config/source_error"
require "neverblock/errors"

module NeverBlock
  module Boot
    module Hooks
      module_function

      # @param settings [Config::Settings]
      # @param name [Symbol] :before_fork or :after_fork
      # @param arguments [Array] of the blocks
      # @return [void]
      # @raise [ApplicationError] for what a block has raised, with its file and line
      def call(settings, name, *arguments)
        settings[name]&.each { |block| run(name, block, arguments) }
      end

      # @param settings [Config::Settings]
      # @return [Array<String>] a line for each hook that a single process does not call
      def uncalled(settings)
        (settings[:before_fork] || []).map do |block|
          "before_fork (#{place(block)}) is not called: nothing is forked in one process " \
            "(workers 1)"
        end
      end

      def run(name, block, arguments)
        block.call(*arguments)
      rescue Error, SystemExit, SignalException
        raise
      rescue Exception => e # rubocop:disable Lint/RescueException -- a hook may raise anything
        raise ApplicationError, "#{name} has failed: " \
                                "#{SourceError.describe(e, block.source_location.first)}"
      end

      def place(block)
        path, line = block.source_location
        "#{SourceError.short(path)}:#{line}"
      end
      private_class_method :run, :place
    end
  end
end
