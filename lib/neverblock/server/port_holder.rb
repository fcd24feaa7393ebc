# frozen_string_literal: true

# Says which process listens on a TCP port of this machine, where /proc tells (Linux, proc(5)) and the process is ours to look at. For the message
# about a busy port only, so every failure means: not known.

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
        "process #{pid} (#{OtherProcess.new(pid.to_i, proc_root: @proc_root).command}) listens there"
      rescue SystemCallError
        nil
      end

      private

      def listening_inodes(port)
        %w[net/tcp net/tcp6].flat_map { |name| rows(name) }.filter_map do |fields|
          fields[9] if fields[3] == LISTEN_STATE && fields[1].to_s.split(":").last.to_s.to_i(16) == port
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
