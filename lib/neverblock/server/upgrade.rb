# frozen_string_literal: true

# Starts this server's command again as a new process that listens at the same sockets: with new
# code, new gems, another Ruby. When the new process serves, this one is to let its requests end.
# Until then both accept connections. If the new one does not start, nothing has changed.

require "json"
require "neverblock/errors"
require "neverblock/server/inheritance"
require "neverblock/verbs/deadline"

module NeverBlock
  class Server
    class Upgrade
      # A manager counts the signs of life of the process whose id is here (sd_watchdog_enabled(3)).
      WATCHDOG_PID = "WATCHDOG_PID"
      # Seconds a process has to end that does not serve, between two looks whether it has, and
      # between two signals to it.
      ENDING_S = 5
      REAP_S = 0.02
      AGAIN_S = 0.5
      # Why there is none.
      ELSEWHERE = "no upgrade: rackup, rails server or another program has started this server; " \
                  "start that program again, or serve with `neverblock`, which can do it"

      # @param io_loop [IoLoop] which has the sockets
      # @param start [#call] starts the command again with variables (nil: without that one), and
      #   with these descriptors open; returns the process's id (Cluster::Origin#spawn_again)
      def initialize(io_loop, start)
        @io_loop = io_loop
        @start = start
        @lock = Mutex.new
      end

      # Waits until the new process serves, or has failed.
      # @yieldparam line [String] progress
      # @return [Integer] its id
      # @raise [Error] with the reason why it does not serve
      def call
        reader, writer = IO.pipe
        pid = @lock.synchronize { start(writer) }
        yield "process #{pid} starts beside this one"
        follow(pid, reader.gets.to_s)
      rescue SystemCallError => e
        raise Error, "a new process cannot be started: #{e.message}; nothing has changed"
      ensure
        [reader, writer].each { |io| io&.close }
        @over = true
      end

      # Ends the new process, if it does not serve yet, and starts none from then on. Thread-safe.
      # @return [void]
      def give_up
        @lock.synchronize do
          @given_up = true
          @ending ||= Thread.new { end_process } if @pid && !@over
        end
      end

      # Waits until the process that give_up ends has ended, for ENDING_S at most. Thread-safe.
      # @return [void]
      def wait_for_end
        @ending&.join
      end

      # @return [Hash{String => String, nil}] the variables for a process that gets these sockets
      def self.variables(fds, keeps_paths, **further)
        told = { fds: fds, keeps_paths: keeps_paths, **further }
        { Inheritance::VARIABLE => JSON.generate(told), WATCHDOG_PID => nil }
      end

      private

      def start(writer)
        raise Error, "no upgrade: this server stops" if @given_up

        fds = @io_loop.copy_listeners
        variables = Upgrade.variables(fds, @io_loop.keeps_paths?, pid: ::Process.pid,
                                                                  report: writer.fileno)
        @pid = @start.call(variables, [writer.fileno, *fds])
        writer.close
        @pid
      ensure
        fds&.each { |fd| IO.for_fd(fd).close }
      end

      def follow(pid, line)
        word, reason = line.chomp.split(" ", 2)
        return pid if word == Inheritance::READY

        reap(pid)
        why = word == Inheritance::FAILED ? "did not start: #{reason}" : "ended before it served"
        raise Error, "process #{pid} #{why}; nothing has changed, this process goes on"
      end

      # A Ruby that begins to run may keep a signal until the next one comes.
      def end_process
        limit = Deadline.now + ENDING_S
        until Deadline.now > limit
          ::Process.kill("TERM", @pid)
          return if within(AGAIN_S) { @over }
        end
        ::Process.kill("KILL", @pid)
      rescue Errno::ESRCH
        nil
      end

      # It has told why it ends, or has closed its end of the pipe. A front reaps all its children;
      # a wait that blocks would keep it from that (Ruby 3.1).
      def reap(pid)
        within(ENDING_S) { ::Process.wait(pid, ::Process::WNOHANG) }
      rescue Errno::ECHILD
        nil
      end

      # Looks until the block is true, or the time is over.
      # @return [Object] what the block returned last
      def within(seconds)
        limit = Deadline.now + seconds
        sleep(REAP_S) until (found = yield) || Deadline.now > limit
        found
      end
    end
  end
end
