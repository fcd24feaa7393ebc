# frozen_string_literal: true

# A file that asks for new code by being touched, as `bin/rails restart` does with tmp/restart.txt: looked at now and then, on a thread of its own.

module NeverBlock
  class Server
    class RestartFile
      # Where Rails has it.
      RAILS = "tmp/restart.txt"
      # What says that a folder is a Rails application's.
      RAILS_HAS = "config/application.rb"
      LOOK_S = 1

      # @param chosen [String, nil] of the settings
      # @param directory [String]
      # @return [String, nil] path of the file; nil: none is looked at
      def self.path(chosen, directory = Dir.pwd)
        return File.expand_path(chosen, directory) if chosen

        File.join(directory, RAILS) if File.exist?(File.join(directory, RAILS_HAS))
      end

      # @param path [String] which need not be there
      # @param pause [#call] waits so many seconds
      def initialize(path, pause: method(:sleep))
        @path = path
        @pause = pause
        @seen = time
      end

      # Calls the block whenever the file has been touched.
      # @return [Thread] which does it
      def watch
        Thread.new do
          Thread.current.name = "nb-restart-file"
          loop do
            @pause.call(LOOK_S)
            yield if touched?
          end
        end
      end

      # @return [Boolean] whether it has been since it was last asked
      def touched?
        now = time
        changed = !now.nil? && now != @seen
        @seen = now
        changed
      end

      private

      def time
        File.mtime(@path)
      rescue SystemCallError
        nil
      end
    end
  end
end
