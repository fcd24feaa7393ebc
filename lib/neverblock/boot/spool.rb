# frozen_string_literal: true

# The folder of large request bodies. Checked once at boot; otherwise the first large upload would
# get 503.

require "neverblock/errors"

module NeverBlock
  module Boot
    module Spool
      # The default folder of the I/O loop (core/loop/loop.c).
      VARIABLE = "TMPDIR"
      SYSTEMS_OWN = "/tmp"

      module_function

      # @param directory [String, nil] the setting spool_directory; nil: the system's folder
      # @param env [Hash, ENV]
      # @return [Array<String>] one line when the system's folder cannot be used; a server without
      #   large bodies runs without it
      # @raise [StartError] when the setting's folder cannot be used
      def check(directory, env = ENV)
        found = directory || [env[VARIABLE].to_s, SYSTEMS_OWN].reject(&:empty?).first
        problem = problem(found) or return []
        raise StartError, "spool_directory #{directory}: #{problem}" if directory

        ["request bodies over 64 KB get 503, because the folder for them cannot be used: " \
         "#{found}: #{problem}; name another in #{VARIABLE} or spool_directory"]
      end

      def problem(directory)
        return "there is no such folder; create it" unless File.exist?(directory)
        return "it is not a folder" unless File.directory?(directory)
        return if File.writable?(directory) && File.executable?(directory)

        return "it is on a read-only file system" if ::Process.euid.zero?

        "user #{::Process.euid} may not create files there"
      end
      private_class_method :problem
    end
  end
end
