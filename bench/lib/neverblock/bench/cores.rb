# frozen_string_literal: true

require "etc"

module NeverBlock
  module Bench
    # Keeps a measured program and the server it asks apart: the server on the last core, the program on all others. With one core both share it.
    module Cores
      class << self
        # @return [Integer] the server's core
        def servers
          Etc.nprocessors - 1
        end

        # Moves every process of a server to the last core; what they start later is born there.
        # @param tree [ProcessTree]
        # @raise [Error] as give_server
        def give_tree(tree)
          tree.pids.each { |pid| give_server(pid) }
        end

        # @param count [Integer] cores of this machine
        # @return [Array<String>] what the command of the program begins with
        def program_prefix(count = Etc.nprocessors)
          count > 1 ? ["taskset", "-c", "0-#{count - 2}"] : []
        end

        # Moves a server with all its threads to the last core.
        # @param pid [Integer]
        # @raise [Error] when taskset(1) of util-linux is missing or refuses
        def give_server(pid, count = Etc.nprocessors)
          return if count < 2

          said = Child.capture(["taskset", "-a", "-p", "-c", (count - 1).to_s, pid.to_s], limit_seconds: 10)
          raise Error, "taskset could not move the server: #{said.strip}" unless said.include?("new affinity")
        rescue Errno::ENOENT
          raise Error, "taskset is not installed (package util-linux)"
        end
      end
    end
  end
end
