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
      def self.expand(path, base = here)
        File.expand_path(path, base)
      rescue ArgumentError => e
        raise ConfigError, "the path #{path.inspect} has no meaning here: #{e.message}"
      end

      # The working directory by the name in PWD, as `pwd -L` gives it. Deployments swap a link
      # such as `current`: a path by its name leads to the new release, and does not end with the
      # old one.
      # @return [String] absolute
      # @raise [Errno::ENOENT] the working directory is gone
      def self.here
        name = ENV["PWD"].to_s
        name.start_with?("/") && File.identical?(name, ".") ? name : Dir.pwd
      end
    end
  end
end
