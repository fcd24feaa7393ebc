# frozen_string_literal: true

# Paths as people write them.

require "neverblock/errors"

module NeverBlock
  class Config
    module Paths
      # @param path [String] a tilde at its beginning is the home of a user
      # @param base [String] where a relative path starts
      # @return [String] absolute
      # @raise [ConfigError] when there is no such user, or no home
      def self.expand(path, base = Dir.pwd)
        File.expand_path(path, base)
      rescue ArgumentError => e
        raise ConfigError, "the path #{path.inspect} has no meaning here: #{e.message}"
      end
    end
  end
end
