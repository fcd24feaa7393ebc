# frozen_string_literal: true

# The folder in which large request bodies wait: looked at once, at boot, because the alternative is a 503 for the first large upload.

require "neverblock/errors"

module NeverBlock
  module Boot
    module Spool
      module_function

      # @param directory [String, nil] spool_directory; nil: the system's own, which is not looked at
      # @return [void]
      # @raise [StartError]
      def check(directory)
        return if directory.nil? || (File.directory?(directory) && File.writable?(directory) && File.executable?(directory))

        raise StartError, "spool_directory #{directory}: #{problem(directory)}"
      end

      def problem(directory)
        return "there is no such folder; make it first" unless File.exist?(directory)
        return "it is no folder" unless File.directory?(directory)

        "user #{::Process.euid} may not make files there"
      end
      private_class_method :problem
    end
  end
end
