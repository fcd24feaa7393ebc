# frozen_string_literal: true

# The socket beside the pidfile on which a running server takes commands (`neverblock reload`,
# `neverblock stop`). A client sends one line: a command, and perhaps an argument. It gets one JSON
# object a line: any number of {"progress": "..."}, then one with "ok". Only the server's own user
# and root may connect.
#
# Results of the commands:
#
#   status pid, generation, draining (true, false), connections (open), shutdown_s (timeouts
#                    shutdown), workers [{ number, pid, state }]
#   reload           the same; or an error that tells why the old version still serves
#   workers +1, -1   the same
#   upgrade          pid (of the process that serves from now on); or an error that tells why the
#                    running one goes on
#   end              answered by #close: status (the server's exit status)
#
# Each client has a thread of its own, so that a long reload does not delay other commands. There
# are few clients, and each has a short time for a short line. The caller implements the commands.

require "json"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/server/control/address"

module NeverBlock
  class Server
    class Control
      MODE = 0o600
      # Clients beyond it fail in connect(2), and get no error message.
      BACKLOG = 64
      # Most clients at once.
      CLIENTS_MAX = 16
      LINE_BYTES_MAX = 256
      # Seconds a client has to send its line.
      LINE_S = 5
      # Seconds to wait when descriptors are exhausted.
      FULL_S = 1
      # Seconds a running command has when the server ends.
      LAST_WORDS_S = 0.5
      # The command that is answered when the server ends.
      END_COMMAND = "end"

      # @return [String] the socket's path
      attr_reader :path

      # @param pidfile [String] the server's own; its holder also owns the socket's path
      # @param commands [Hash{String => #call}] Each is called on a thread of its own, with the
      #   line's argument (String, nil) and a block for lines of progress. It returns a Hash for the
      #   client; the duration ("seconds") is added. The message of an Error it raises is sent to
      #   the client.
      # @param line_s [Numeric] seconds a client has to send its line
      def initialize(pidfile, commands, line_s: LINE_S)
        @address = Address.new(pidfile)
        @path = @address.path
        @commands = commands
        @line_s = line_s
        @lock = Mutex.new
        @clients = {}
        @waiting = []
      end

      # Starts to listen. A server serves without it too.
      # @return [String, nil] a log line when it could not
      def open
        @listener = listen
        @owner = ::Process.pid
        @thread = Thread.new { accept }.tap { |thread| thread.name = "nb-control" }
        nil
      rescue SystemCallError, ThreadError => e
        @listener&.close
        @listener = nil
        "there is no control socket #{path}, so neverblock reload cannot report its result: " \
          "#{explain(e)}"
      end

      # Ends, and removes the socket. Running commands are ended; clients of END_COMMAND get the
      # status.
      # @param status [Integer, nil] the server's exit status; nil: unknown
      # @return [void]
      def close(status = nil)
        return unless @listener && @owner == ::Process.pid

        stop_accepting
        waiting = @lock.synchronize { @waiting.dup }
        waiting.each { |socket| tell(socket, { ok: true, status: status }) }
        @lock.synchronize { @clients.dup }.each do |thread, socket|
          end_client(thread) unless thread == Thread.current
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
          File.chmod(MODE, path) # before it listens, so that nobody else can connect
          socket.listen(BACKLOG)
        end
        socket
      rescue StandardError
        socket&.close
        raise
      end

      # Removes the socket of a killed server. Another kind of file is left alone.
      def remove_stale
        File.unlink(path) if File.lstat(path).socket?
      rescue Errno::ENOENT
        nil
      end

      def identity
        stat = File.lstat(path)
        [stat.dev, stat.ino]
      end

      # One that has its result is about to tell it.
      def end_client(thread)
        thread.join(LAST_WORDS_S) || thread.kill.join
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

        # The client's thread removes itself at its end, and waits for the lock until it is added.
        @lock.synchronize { @clients[client_thread(socket)] = socket }
      rescue ThreadError
        turn_away(socket, "no thread is available")
      end

      def client_thread(socket)
        Thread.new { serve(socket) }.tap { |thread| thread.name = "nb-control-client" }
      end

      def refusal_of(socket)
        uid = socket.getpeereid.first
        unless [0, ::Process.euid].include?(uid)
          return "this server belongs to user #{::Process.euid}; you are user #{uid}"
        end

        crowded = @lock.synchronize { @clients.size } >= CLIENTS_MAX
        "#{CLIENTS_MAX} other clients are connected; try again" if crowded
      rescue SystemCallError
        "your user is unknown"
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
        if line.bytesize > LINE_BYTES_MAX
          raise Error, "a command is a line of at most #{LINE_BYTES_MAX} bytes"
        end

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
        command = @commands[name] or raise Error, unknown(name)
        began = Deadline.now
        result = command.call(argument, &progress)
        { ok: true, seconds: (Deadline.now - began).round(3) }.merge(result)
      rescue Error
        raise
      rescue StandardError => e
        raise Error, "unexpected #{e.class}: #{e.message}"
      end

      def unknown(name)
        known = [*@commands.keys, END_COMMAND].join(", ")
        "unknown command #{name.to_s.inspect}; known are #{known}"
      end

      # Waits until #close answers, or the client disconnects.
      def wait_for_end(socket)
        @lock.synchronize { @waiting << socket }
        socket.wait_readable until socket.read_nonblock(LINE_BYTES_MAX, exception: false).nil?
      rescue SystemCallError, IOError
        nil
      ensure
        @lock.synchronize { @waiting.delete(socket) }
      end

      # Never blocks: a client that does not read loses what does not fit.
      def tell(socket, object)
        socket.write_nonblock("#{JSON.generate(object)}\n", exception: false)
      rescue SystemCallError, IOError
        nil
      end

      def explain(error)
        case error
        when Errno::EADDRINUSE then "a file that is not a socket is there; remove it"
        when Errno::ENAMETOOLONG then "the path is too long for a socket; name a shorter pidfile"
        when Errno::EROFS then "#{File.dirname(path)} is on a read-only file system"
        when Errno::EACCES, Errno::EPERM
          "user #{::Process.euid} may not create sockets in #{File.dirname(path)}"
        else error.message
        end
      end
    end
  end
end
