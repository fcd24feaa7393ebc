# frozen_string_literal: true

require "etc"

module NeverBlock
  module Bench
    # Separates a measured program from its server: the server runs on the last core, the program on
    # the others. With one core both share it.
    module Cores
      class << self
        # @return [Integer] the server's core
        def servers
          Etc.nprocessors - 1
        end

        # Moves all processes of a server to the last core. Processes they start later inherit it.
        # @param tree [ProcessTree]
        # @raise [Error] see give_server
        def give_tree(tree)
          tree.pids.each { |pid| give_server(pid) }
        end

        # @param count [Integer] cores of this machine
        # @return [Array<String>] first words of the program's command
        def program_prefix(count = Etc.nprocessors)
          count > 1 ? ["taskset", "-c", "0-#{count - 2}"] : []
        end

        # Moves a server with all its threads to the last core.
        # @param pid [Integer]
        # @raise [Error] when taskset(1) of util-linux is missing or refuses
        def give_server(pid, count = Etc.nprocessors)
          return if count < 2

          command = ["taskset", "-a", "-p", "-c", (count - 1).to_s, pid.to_s]
          said = Child.capture(command, limit_seconds: 10)
          return if said.include?("new affinity")

          raise Error, "taskset could not move the server: #{said.strip}"
        rescue Errno::ENOENT
          raise Error, "taskset is not installed (package util-linux)"
        end
      end
    end
  end
end
