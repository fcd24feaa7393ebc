# frozen_string_literal: true

# Finds the process that listens on a TCP port of this machine, from /proc (Linux, proc(5)). Only
# for the error message about a busy port, so that every failure means "unknown".

require "neverblock/server/other_process"

module NeverBlock
  class Server
    class PortHolder
      LISTEN_STATE = "0A" # include/net/tcp_states.h

      # @param proc_root [String]
      def initialize(proc_root: "/proc")
        @proc_root = proc_root
      end

      # @param port [Integer]
      # @return [String, nil] such as "process 4711 (puma 6.4)"
      def describe(port)
        inodes = listening_inodes(port)
        return nil if inodes.empty?

        pid = holder_of(inodes) or return nil
        holder = OtherProcess.new(pid.to_i, proc_root: @proc_root)
        "process #{pid} (#{holder.command}) listens there"
      rescue SystemCallError
        nil
      end

      private

      def listening_inodes(port)
        %w[net/tcp net/tcp6].flat_map { |name| rows(name) }.filter_map do |fields|
          port_of_row = fields[1].to_s.split(":").last.to_s.to_i(16)
          fields[9] if fields[3] == LISTEN_STATE && port_of_row == port
        end
      end

      def rows(name)
        File.readlines(File.join(@proc_root, name)).drop(1).map(&:split)
      rescue SystemCallError
        []
      end

      def holder_of(inodes)
        wanted = inodes.map { |inode| "socket:[#{inode}]" }
        Dir.children(@proc_root).grep(/\A\d+\z/).find { |pid| holds?(pid, wanted) }
      end

      def holds?(pid, wanted)
        directory = File.join(@proc_root, pid, "fd")
        Dir.children(directory).any? { |fd| wanted.include?(link(File.join(directory, fd))) }
      rescue SystemCallError
        false
      end

      def link(path)
        File.readlink(path)
      rescue SystemCallError
        nil
      end
    end
  end
end
