# frozen_string_literal: true

# What ps shows: which process this is of which application.

module NeverBlock
  module Cluster
    module Title
      module_function

      # @param role [String] such as "worker 2"
      # @return [void]
      def set(role)
        ::Process.setproctitle("neverblock: #{role} of #{Dir.pwd}")
      rescue SystemCallError
        nil # the folder is gone
      end
    end
  end
end
