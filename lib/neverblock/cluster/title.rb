# frozen_string_literal: true

# The process title that ps shows: its role, and the folder of the application.

module NeverBlock
  module Cluster
    module Title
      module_function

      # @param role [String] such as "worker 2"
      # @return [void]
      def set(role)
        ::Process.setproctitle("neverblock: #{role} of #{Dir.pwd}")
      rescue SystemCallError
        nil # the folder no longer exists
      end
    end
  end
end
