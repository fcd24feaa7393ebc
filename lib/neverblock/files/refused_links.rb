# frozen_string_literal: true

# Tells the log of symbolic links that a listing leaves out, as the file server tells of those that
# are asked for (core/responses/static.c): once for each.

require "neverblock/log/characters"
require "neverblock/log/once"

module NeverBlock
  module Files
    class RefusedLinks
      # Most links that are told; a folder may be full of them.
      MAX = 64

      WAYS_OUT = { true => "--symlinks owner lets none lead; --symlinks follow does",
                   false => "none may lead without --symlinks owner, or follow" }.freeze
      private_constant :WAYS_OUT

      # @return [Log, nil] nil: nothing is told, and all is told later
      attr_writer :log

      # @param root [String] path of the served folder
      # @param symlinks [Symbol] as the setting
      def initialize(root, symlinks)
        @root = root
        @way_out = WAYS_OUT.fetch(symlinks == :owner)
        @told = Log::Once.new(MAX)
      end

      # Thread-safe.
      # @param name [String] path inside of the folder
      # @return [void]
      def call(name)
        return unless @log && @told.new?(name)

        shown = Log::Characters.utf8(name)
        @log.warn("#{shown} under #{@root} is not listed: this symbolic link leads where " \
                  "#{@way_out}")
        @log.warn("further links that are not listed are not told") if @told.full?
      end
    end
  end
end
