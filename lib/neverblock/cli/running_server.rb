# frozen_string_literal: true

# The server that a pidfile names: looked at before anything is sent to it, because a pidfile may be left of a server that was killed and its number be another
# program's by now.

require "neverblock/errors"
require "neverblock/server/control/client"
require "neverblock/server/other_process"
require "neverblock/server/pid_file"

module NeverBlock
  module CLI
    class RunningServer
      # @return [Integer]
      attr_reader :pid
      # @return [Server::Control::Client]
      attr_reader :control

      # @param pidfile [String]
      # @raise [Error] when it names no server
      def initialize(pidfile)
        @pidfile = pidfile
        @pid = read
        @process = Server::OtherProcess.new(pid)
        @control = Server::Control::Client.new(pidfile)
        refuse("is stale: process #{pid} has ended, and there is nothing to do") unless @process.alive?
        refuse("names process #{pid} (#{@process.command}), which is no NeverBlock: it is left of an earlier server; remove it") unless @process.neverblock?
      end

      # @return [Boolean]
      def alive?
        @process.alive?
      end

      # @param name [String] without SIG
      # @return [void]
      # @raise [Error]
      def signal(name)
        ::Process.kill(name, pid)
      rescue Errno::ESRCH
        nil
      rescue Errno::EPERM
        raise Error, "process #{pid} is not user #{::Process.euid}'s to signal: use the server's own user, or root"
      end

      # @return [Boolean] whether it went without tidying up
      def left_its_pidfile?
        Server::PidFile.read(@pidfile) == pid
      rescue SystemCallError
        false
      end

      private

      def read
        pid = Server::PidFile.read(@pidfile)
        pid.to_i.positive? ? pid : refuse("holds no process id")
      rescue Errno::ENOENT, Errno::ENOTDIR
        raise Error, "no pidfile #{@pidfile}: is the server running, and was it started with this pidfile?"
      rescue SystemCallError => e
        raise Error, "cannot read the pidfile #{@pidfile}: #{e.message[/\A[^@]+/].strip}"
      end

      def refuse(words)
        raise Error, "the pidfile #{@pidfile} #{words}"
      end
    end
  end
end
