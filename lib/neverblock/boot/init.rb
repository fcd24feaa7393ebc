# frozen_string_literal: true

# The first process of a container (PID 1). The kernel makes it the parent of every orphan, and
# ignores signals it does not handle (pid_namespaces(7)). A server of one process therefore runs as
# its child: this process forwards signals, waits for every process that ends, and ends with the
# server's status. With workers the front waits for all processes itself.

require "neverblock/boot/cgroup"

module NeverBlock
  module Boot
    class Init
      # Signals that operators, container engines and supervisors send. STOP and KILL cannot be
      # caught.
      FORWARDED = %w[TERM INT HUP QUIT USR1 USR2 TTIN TTOU].freeze
      # Base of the exit status after a signal, as shells report it.
      SIGNALLED = 128
      FIRST = 1
      # The ioctl behind tcsetpgrp(3), which Ruby does not have (asm-generic/ioctls.h).
      TIOCSPGRP = 0x5410

      # @param workers [Integer]
      # @param pid [Integer] id of this process
      # @return [Boolean]
      def self.needed?(workers, pid = ::Process.pid)
        pid == FIRST && workers == 1
      end

      # @param err [IO] receives a line when a signal has ended the server
      # @param cgroup [#oom_kills]
      def initialize(err: $stderr, cgroup: Cgroup.new)
        @err = err
        @cgroup = cgroup
        @early = []
      end

      # Forks. Only the child returns; this process ends with the child, with its status.
      # @return [void]
      def become
        @oom_kills = @cgroup.oom_kills
        previous = FORWARDED.to_h { |name| [name, Signal.trap(name) { forward(name) }] }
        before = @early.size
        server = fork or return serve(previous)

        @server = server
        @early.drop(before).each { |name| forward(name) }
        ::Process.setproctitle("neverblock: init")
        status = await
        report(status)
        # exit!: at_exit blocks belong to the server.
        ::Process.exit!(status.exitstatus || (SIGNALLED + status.termsig))
      end

      private

      def forward(name)
        return @early << name unless @server

        ::Process.kill(name, @server)
      rescue Errno::ESRCH
        nil # it has ended and is waited for next
      end

      # In the child. Signals that came before the fork are sent again.
      def serve(previous)
        previous.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
        take_terminal
        @early.each { |name| ::Process.kill(name, ::Process.pid) }
      end

      # A key such as Ctrl-C signals the whole foreground group. In a group of its own, the server
      # gets the signal once, and not a second time from its parent.
      def take_terminal
        ::Process.setpgid(0, 0)
        return unless $stdin.tty?

        previous = Signal.trap("TTOU", "IGNORE")
        $stdin.ioctl(TIOCSPGRP, [::Process.pid].pack("l"))
      rescue SystemCallError
        nil # not the terminal of this session
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

        why = ", by the kernel because memory was exhausted" if out_of_memory?(status)
        signal = Signal.signame(status.termsig)
        @err.puts("neverblock: the server (process #{@server}) was killed by SIG#{signal}#{why}")
      rescue SystemCallError
        nil
      end

      def out_of_memory?(status)
        status.termsig == Signal.list["KILL"] && @cgroup.oom_kills > @oom_kills
      end
    end
  end
end
