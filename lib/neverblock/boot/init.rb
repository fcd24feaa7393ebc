# frozen_string_literal: true

# The first process of a container: the kernel gives it every orphan to wait for, and takes from it the default action of signals (pid_namespaces(7)). A server of one
# process has better to do, so it runs as a child: this passes signals on, waits for whatever ends, and ends as the server did. (With workers the front waits for
# everything anyway.)

require "neverblock/boot/cgroup"

module NeverBlock
  module Boot
    class Init
      # What operators, engines of containers and supervisors send; STOP and KILL cannot be caught.
      FORWARDED = %w[TERM INT HUP QUIT USR1 USR2 TTIN TTOU].freeze
      # A shell reports a process that a signal ended as 128 and its number.
      SIGNALLED = 128
      FIRST = 1
      # asm-generic/ioctls.h: tcsetpgrp(3), which Ruby does not have.
      TIOCSPGRP = 0x5410

      # @param workers [Integer]
      # @param pid [Integer] this process's
      # @return [Boolean]
      def self.needed?(workers, pid = ::Process.pid)
        pid == FIRST && workers == 1
      end

      # @param err [IO] where a server that a signal ended is told
      # @param cgroup [#oom_kills]
      def initialize(err: $stderr, cgroup: Cgroup.new)
        @err = err
        @cgroup = cgroup
        @early = []
      end

      # Forks. Only the child returns; this process ends when it does, with its status.
      # @return [void]
      def become
        @oom_kills = @cgroup.oom_kills
        previous = FORWARDED.to_h { |name| [name, Signal.trap(name) { forward(name) }] }
        server = fork or return serve(previous)

        @server = server
        @early.each { |name| forward(name) }
        ::Process.setproctitle("neverblock: init")
        status = await
        report(status)
        ::Process.exit!(status.exitstatus || (SIGNALLED + status.termsig)) # at_exit blocks are the server's
      end

      private

      def forward(name)
        return @early << name unless @server

        ::Process.kill(name, @server)
      rescue Errno::ESRCH
        nil # it has ended, and is about to be waited for
      end

      # In the child. What came before anybody could hear it comes now.
      def serve(previous)
        previous.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
        take_terminal
        @early.each { |name| ::Process.kill(name, ::Process.pid) }
      end

      # A key of the terminal is a signal to its whole group: the server gets it once, and not from here again.
      def take_terminal
        ::Process.setpgid(0, 0)
        return unless $stdin.tty?

        previous = Signal.trap("TTOU", "IGNORE")
        $stdin.ioctl(TIOCSPGRP, [::Process.pid].pack("l"))
      rescue SystemCallError
        nil # it is not this session's terminal
      ensure
        Signal.trap("TTOU", previous) if previous
      end

      # @return [Process::Status] of the server
      def await
        loop do
          pid, status = ::Process.wait2(-1)
          return status if pid == @server
        end
      end

      def report(status)
        return unless status.signaled?

        why = ", by the kernel for want of memory" if status.termsig == Signal.list["KILL"] && @cgroup.oom_kills > @oom_kills
        @err.puts("neverblock: the server (process #{@server}) was killed by SIG#{Signal.signame(status.termsig)}#{why}")
      rescue SystemCallError
        nil
      end
    end
  end
end
