# frozen_string_literal: true

# The setting `directory`: the folder of the application, independent of where the server was
# started.

require "neverblock/config/source_error"
require "neverblock/errors"

module NeverBlock
  class Config
    module Directory
      # Changes the process's working directory. Relative paths, as of the rackup file, start there.
      # @param name [String, nil] nil: the process stays where it is
      # @return [void]
      # @raise [ConfigError]
      def self.enter(name)
        return if name.nil?

        Dir.chdir(name)
        ENV["PWD"] = File.expand_path(name, ENV.fetch("PWD", "/"))
      rescue SystemCallError => e
        reason = SourceError.reason(e).downcase
        raise ConfigError, "cannot change to directory #{name.inspect}: #{reason}; " \
                           "it must be the application's folder, or a link to it"
      end
    end
  end
end
