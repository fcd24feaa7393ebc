# frozen_string_literal: true

# The socket beside the pidfile on which a running server is told to reload and says how it went (`neverblock reload`, `neverblock stop`). A client sends one line,
# a command and perhaps a word; it gets a JSON object a line: any number of {"progress": "..."}, then one with "ok". Only the server's own user and root may.
#
# What the commands return, as `neverblock reload` and `neverblock stop` read it:
#
#   status           pid, generation, draining (true, false), connections (open), shutdown_s (timeouts shutdown), workers [{ number, pid, state }]
#   reload           the same; an Error whose message says why the old version serves on
#   workers +1, -1   the same
#   end              answered by #close: status (the server's exit status)
#
# Each client has a thread of its own, so that a long reload keeps nobody from asking for the status; there are few clients, and each has a short time for a
# short line. What a command does is the caller's business.

require "json"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/server/control/address"

module NeverBlock
  class Server
    class Control
      MODE = 0o600
      # Over it a client's connect(2) fails before anybody can tell it why.
      BACKLOG = 64
      # An operator's commands and those of a supervisor; more is somebody's mistake.
      CLIENTS_MAX = 16
      LINE_BYTES_MAX = 256
      # Seconds for a client's line.
      LINE_S = 5
      # Seconds until descriptors may be free again.
      FULL_S = 1
      # The command that is answered when the server has ended.
      END_COMMAND = "end"

      # @return [String] the socket's path
      attr_reader :path

      # @param pidfile [String] the server's own: who holds it has the socket's place too
      # @param commands [Hash{String => #call}] each takes the line's second word (String, nil) and a block for lines of progress, on a thread of its own, and
      #   returns a Hash for the client, who is also told how long it took ("seconds"); an Error it raises is what the client is told
      # @param line_s [Numeric] seconds for a client's line
      def initialize(pidfile, commands, line_s: LINE_S)
        @address = Address.new(pidfile)
        @path = @address.path
        @commands = commands
        @line_s = line_s
        @lock = Mutex.new
        @clients = {}
        @waiting = []
      end

      # Begins to listen. A server without it serves as well.
      # @return [String, nil] why it does not listen: a line for the log
      def open
        @listener = listen
        @owner = ::Process.pid
        @thread = Thread.new { accept }.tap { |thread| thread.name = "nb-control" }
        nil
      rescue SystemCallError, ThreadError => e
        @listener&.close
        @listener = nil
        "no control socket #{path}, so neverblock reload cannot tell how it went: #{mend(e)}"
      end

      # Ends, and removes the socket. Commands that still run are ended, those who wait for the server's end are told.
      # @param status [Integer, nil] the server's exit status; nil: not known
      # @return [void]
      def close(status = nil)
        return unless @listener && @owner == ::Process.pid

        stop_accepting
        @lock.synchronize { @waiting.dup }.each { |socket| tell(socket, { ok: true, status: status }) }
        @lock.synchronize { @clients.dup }.each do |thread, socket|
          thread.kill.join unless thread == Thread.current
          socket.close
        end
      end

      private

      def listen
        remove_stale
        socket = Socket.new(:UNIX, :STREAM)
        @address.packed do |address|
          socket.bind(address)
          @identity = identity
          File.chmod(MODE, path) # before it listens: until then nobody gets in
          socket.listen(BACKLOG)
        end
        socket
      rescue StandardError
        socket&.close
        raise
      end

      # A killed server's. What is no socket is somebody's file.
      def remove_stale
        File.unlink(path) if File.lstat(path).socket?
      rescue Errno::ENOENT
        nil
      end

      def identity
        stat = File.lstat(path)
        [stat.dev, stat.ino]
      end

      def stop_accepting
        @thread.kill.join
        @listener.close
        @listener = nil
        File.unlink(path) if identity == @identity
      rescue SystemCallError
        nil
      end

      def accept
        loop { receive(@listener.accept.first) }
      rescue Errno::ECONNABORTED
        retry
      rescue SystemCallError
        sleep(FULL_S)
        retry
      end

      def receive(socket)
        refusal = refusal_of(socket)
        return turn_away(socket, refusal) if refusal

        # A client that has ended takes itself out, and waits for the lock until it is in.
        @lock.synchronize { @clients[Thread.new { serve(socket) }.tap { |thread| thread.name = "nb-control-client" }] = socket }
      rescue ThreadError
        turn_away(socket, "no thread is left")
      end

      def refusal_of(socket)
        uid = socket.getpeereid.first
        return "this server is user #{::Process.euid}'s; you are user #{uid}" unless [0, ::Process.euid].include?(uid)

        "#{CLIENTS_MAX} others are connected; try again" if @lock.synchronize { @clients.size } >= CLIENTS_MAX
      rescue SystemCallError
        "who are you?"
      end

      def turn_away(socket, refusal)
        tell(socket, { ok: false, error: refusal })
        socket.close
      end

      def serve(socket)
        Thread.current.report_on_exception = false
        name, argument = read_line(socket).split(" ", 2)
        return wait_for_end(socket) if name == END_COMMAND

        tell(socket, answer(name, argument) { |line| tell(socket, { progress: line }) })
      rescue Error => e
        tell(socket, { ok: false, error: e.message })
      ensure
        @lock.synchronize { @clients.delete(Thread.current) }
        socket.close
      end

      # @raise [Error]
      def read_line(socket)
        limit = Deadline.now + @line_s
        line = +""
        until line.end_with?("\n") || line.bytesize > LINE_BYTES_MAX
          piece = socket.read_nonblock(LINE_BYTES_MAX, exception: false)
          break if piece.nil?

          piece == :wait_readable ? await(socket, limit) : line << piece
        end
        raise Error, "a command is a line of #{LINE_BYTES_MAX} bytes at most" if line.bytesize > LINE_BYTES_MAX

        line.scrub("?").strip
      rescue SystemCallError, IOError
        ""
      end

      def await(socket, limit)
        left = limit - Deadline.now
        return if left.positive? && socket.wait_readable(left)

        raise Error, "no command came within #{format("%g", @line_s)} s"
      end

      def answer(name, argument, &progress)
        command = @commands[name] or raise Error, "no command #{name.to_s.inspect}; there are #{[*@commands.keys, END_COMMAND].join(", ")}"
        began = Deadline.now
        result = command.call(argument, &progress)
        { ok: true, seconds: (Deadline.now - began).round(3) }.merge(result)
      rescue Error
        raise
      rescue StandardError => e
        raise Error, "unexpected #{e.class}: #{e.message}"
      end

      # Until close tells it, or it leaves.
      def wait_for_end(socket)
        @lock.synchronize { @waiting << socket }
        socket.wait_readable until socket.read_nonblock(LINE_BYTES_MAX, exception: false).nil?
      rescue SystemCallError, IOError
        nil
      ensure
        @lock.synchronize { @waiting.delete(socket) }
      end

      # A client that does not read loses what it did not read.
      def tell(socket, object)
        socket.write_nonblock("#{JSON.generate(object)}\n", exception: false)
      rescue SystemCallError, IOError
        nil
      end

      def mend(error)
        case error
        when Errno::EADDRINUSE then "something that is no socket is there; remove it"
        when Errno::ENAMETOOLONG then "the path is too long for a socket; name a shorter pidfile"
        when Errno::EROFS then "#{File.dirname(path)} is on a read-only file system"
        when Errno::EACCES, Errno::EPERM then "user #{::Process.euid} may not make sockets in #{File.dirname(path)}"
        else error.message
        end
      end
    end
  end
end
