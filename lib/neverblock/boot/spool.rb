# frozen_string_literal: true

# The folder in which large request bodies wait: looked at once, at boot, because the alternative is a 503 for the first large upload.

require "neverblock/errors"

module NeverBlock
  module Boot
    module Spool
      # Where the I/O loop makes files when nobody says otherwise (core/loop/loop.c).
      VARIABLE = "TMPDIR"
      SYSTEMS_OWN = "/tmp"

      module_function

      # @param directory [String, nil] spool_directory; nil: the system's own
      # @param env [Hash, ENV]
      # @return [Array<String>] one line when the system's own is of no use: a server without large bodies does without
      # @raise [StartError] when the folder that was named is
      def check(directory, env = ENV)
        found = directory || [env[VARIABLE].to_s, SYSTEMS_OWN].reject(&:empty?).first
        problem = problem(found) or return []
        raise StartError, "spool_directory #{directory}: #{problem}" if directory

        ["request bodies over 64 KB have nowhere to wait and are answered 503: #{found}: #{problem}; name another in #{VARIABLE} or spool_directory"]
      end

      def problem(directory)
        return "there is no such folder; make it first" unless File.exist?(directory)
        return "it is no folder" unless File.directory?(directory)
        return if File.writable?(directory) && File.executable?(directory)

        ::Process.euid.zero? ? "it is on a read-only file system" : "user #{::Process.euid} may not make files there"
      end
      private_class_method :problem
    end
  end
end
