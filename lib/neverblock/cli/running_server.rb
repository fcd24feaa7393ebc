# frozen_string_literal: true

# The server that a pidfile names. It is checked before a signal is sent: a pidfile may remain after
# a server was killed, and its number may belong to another program by now.

require "neverblock/config/source_error"
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
      # @raise [Error] when there is no such server
      def initialize(pidfile)
        @pidfile = pidfile
        @pid = read
        @process = Server::OtherProcess.new(pid)
        @control = Server::Control::Client.new(pidfile)
        refuse("is stale: process #{pid} has ended; there is nothing to do") unless alive?
        refuse_other unless @process.neverblock?
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
        raise Error, "user #{::Process.euid} may not signal process #{pid}; " \
                     "use the server's own user, or root"
      end

      # @return [Boolean] whether it ended without removing its pidfile
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
        raise Error, "there is no pidfile #{@pidfile}; " \
                     "check that the server runs, and was started with this pidfile"
      rescue SystemCallError => e
        raise Error, "cannot read the pidfile #{@pidfile}: #{SourceError.reason(e)}"
      end

      def refuse_other
        refuse("names process #{pid} (#{@process.command}), which is not NeverBlock: " \
               "the file remains from an earlier server; remove it")
      end

      def refuse(words)
        raise Error, "the pidfile #{@pidfile} #{words}"
      end
    end
  end
end
