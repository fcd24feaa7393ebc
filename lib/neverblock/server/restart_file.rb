# frozen_string_literal: true

# A file that asks for new code when it is touched, as `bin/rails restart` does with
# tmp/restart.txt. A thread checks it at intervals.

module NeverBlock
  class Server
    class RestartFile
      # The path in a Rails application.
      RAILS = "tmp/restart.txt"
      # A file that every Rails application has.
      RAILS_HAS = "config/application.rb"
      # Seconds between two checks.
      LOOK_S = 1

      # @param chosen [String, nil] the setting restart_file
      # @param directory [String]
      # @return [String, nil] path of the file; nil: there is none to watch
      def self.path(chosen, directory = Dir.pwd)
        return File.expand_path(chosen, directory) if chosen

        File.join(directory, RAILS) if File.exist?(File.join(directory, RAILS_HAS))
      end

      # @param path [String] need not exist
      # @param pause [#call] sleeps for a number of seconds
      def initialize(path, pause: method(:sleep))
        @path = path
        @pause = pause
        @seen = time
      end

      # Calls the block whenever the file has been touched.
      # @return [Thread] the watching thread
      def watch
        Thread.new do
          Thread.current.name = "nb-restart-file"
          loop do
            @pause.call(LOOK_S)
            yield if touched?
          end
        end
      end

      # @return [Boolean] whether it was touched since the last call
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
