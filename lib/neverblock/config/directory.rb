# frozen_string_literal: true

# The setting `directory`: where the application lies, wherever the server was started.

require "neverblock/errors"

module NeverBlock
  class Config
    module Directory
      # Makes it the process's folder; relative paths, the rackup file's among them, start there.
      # @param name [String, nil] nil: the process stays where it is
      # @return [void]
      # @raise [ConfigError]
      def self.enter(name)
        return if name.nil?

        Dir.chdir(name)
        ENV["PWD"] = File.expand_path(name, ENV.fetch("PWD", "/"))
      rescue SystemCallError => e
        raise ConfigError, "directory #{name.inspect}: #{e.message[/[^@]*/].strip.downcase}; it takes the folder of the application, or a link to it"
      end
    end
  end
end
