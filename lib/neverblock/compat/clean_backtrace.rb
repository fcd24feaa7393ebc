# frozen_string_literal: true

# For methods that stand in for Ruby's own: who reads a backtrace looks for the file that is wrong.

module NeverBlock
  module Compat
    class << self
      # Takes the lines of a file out of a backtrace. Before Ruby 3.4 only a text can be given back.
      # Without its locations the message of an error in code loses the line of the source that it
      # shows, so such an error keeps its backtrace.
      # @param error [Exception]
      # @param path [String] of the file
      # @return [void]
      def clean_backtrace(error, path)
        return if error.frozen?
        return set_locations(error, path) if RUBY_VERSION >= "3.4" && error.backtrace_locations
        return unless error.is_a?(ScriptError) || error.backtrace_locations.nil?

        lines = error.backtrace
        kept = lines&.reject { |line| line.start_with?("#{path}:") }
        error.set_backtrace(kept) if kept && kept.size < lines.size
      end

      private

      def set_locations(error, path)
        lines = error.backtrace_locations
        kept = lines.reject { |line| line.path == path }
        error.set_backtrace(kept) if kept.size < lines.size
      end
    end
  end
end
