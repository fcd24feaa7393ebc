# frozen_string_literal: true

# A server as a process: signals in, "Listening on URL" and an exit status out. Everything that happens is an event on one queue, read by the main
# thread; traps and executor threads only push.
#
#   TERM, INT                drain; exit status 0 when everything has ended
#   TERM or INT once more    cut everything; exit status 1
#   HUP                      new workers with new code in the place of the old ones (Cluster::Front); from a terminal that is closed: as TERM
#   TTIN, TTOU               a worker more, a worker less (the same)
#   an executor ends alone   log entry; exit status 1

require "neverblock/errors"
require "neverblock/server/later"
require "neverblock/server/terminal"

module NeverBlock
  class Server
    class Runner
      STOP = %w[TERM INT].freeze
      # What signals do with a server that has workers.
      WITH_WORKERS = { "HUP" => :reload, "TTIN" => :add_worker, "TTOU" => :remove_worker }.freeze
      # Signals of the interface that have no effect yet: what they will do.
      NOT_YET = { "USR2" => "upgrading in place" }.freeze
      HANGUP = "HUP"
      LOG_FLUSH_MS = 1_000
      # Seconds a cut server's fibers have to end before the process leaves without them.
      CUT_GRACE_S = 2

      CLEAN = 0
      FAILED = 1

      # @param server [Server, Cluster::Front] not started
      # @param out [IO] where "Listening on URL" goes
      # @param notices [Array<String>] lines for the log once it serves
      # @param later [#call] takes seconds and a block, and calls it then
      # @param abandon [#call] ends the process with a status, whatever its threads are doing
      # @param greet [#call, nil] takes the server, once it serves and has said where
      def initialize(server, out: $stdout, notices: [], later: Later.new, abandon: ::Process.method(:exit!), greet: nil)
        @server = server
        @out = out
        @notices = notices
        @later = later
        @abandon = abandon
        @greet = greet
        @events = Thread::Queue.new
        @terminal = Terminal.new
        @stops = 0
      end

      # Serves until told to stop.
      # @return [Integer] exit status
      # @raise [StartError]
      def run
        previous = trap_signals
        @server.start(serving: -> { @events << :serving }) { @events << :ended }
        status = handle_events
        @server.log.flush(LOG_FLUSH_MS)
        status
      ensure
        previous&.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
      end

      # New code: new workers, or a drain after which the process is to be started again. Any thread.
      # @return [void]
      def restart
        @events << :restart
      end

      # @return [Boolean] whether it drained to be started again
      def again?
        @again || false
      end

      # As if the process had received it. Any thread, and traps.
      # @param name [String] without SIG
      # @return [void]
      def signal(name)
        @events << name
      end

      private

      def trap_signals
        (STOP + WITH_WORKERS.keys + NOT_YET.keys).to_h { |name| [name, Signal.trap(name) { signal(name) }] }.tap { |previous| @terminal.was_handled_by(previous["HUP"]) }
      end

      def serving
        @serving = true
        @notices.each { |line| @server.log.info(line) }
        announce
        @greet&.call(@server)
      end

      # From here on what an application writes to standard output is seen at once, as Rails' log in a container.
      def announce
        @out.sync = true if @out.respond_to?(:sync=)
        @server.urls.each { |url| @out.puts("Listening on #{url}") }
        @out.puts("Admin on #{@server.admin_url}") if @server.admin_url
        @out.flush
      rescue SystemCallError # EPIPE, ENOSPC
        @server.log.warn("nobody reads standard output: #{@server.urls.join(", ")} went unannounced")
      end

      def handle_events
        loop do
          case event = @events.pop
          when :serving then serving
          when :ended then return ended
          when :overdue then return give_up
          when :restart then start_again
          when *STOP then stop(event)
          when HANGUP then @terminal.gone? ? hang_up : to_workers(event)
          when *WITH_WORKERS.keys then to_workers(event)
          else @server.log.info("SIG#{event}: #{NOT_YET.fetch(event)} does not work yet; nothing is done")
          end
        end
      end

      def start_again
        return @server.reload if @server.respond_to?(:reload)
        return if @stops.positive?

        @again = true
        stop("RESTART")
      end

      # The kernel and a shell may both say so; neither is the second signal that cuts.
      def hang_up
        return if @stops.positive?

        @server.log.info("its terminal is closed")
        stop(HANGUP)
      end

      def to_workers(name)
        verb = WITH_WORKERS.fetch(name)
        return @server.log.info("SIG#{name}: this server is one process and has no workers; it takes -w 2 or more; nothing is done") unless @server.respond_to?(verb)

        @server.public_send(verb)
      end

      def stop(name)
        @stops += 1
        case @stops
        when 1 then drain(name)
        when 2 then cut(name)
        end
      end

      def drain(name)
        cause = @again ? "to be started again" : "SIG#{name}"
        @server.log.info("#{cause}: draining; requests have #{seconds(@server.config.shutdown_timeout)} to end, once more cuts them")
        # One after the other: where the process stands still for longer than both (docker pause), the requests are cut before it leaves without them.
        @later.call(@server.config.shutdown_timeout) { @later.call(GRACE_S) { @events << :overdue } }
        @server.drain
      end

      def cut(name)
        @server.log.info("SIG#{name} again: cutting what is left")
        @later.call(CUT_GRACE_S) { @events << :overdue }
        @server.cut
      end

      def ended
        @server.wait
        refuse if @server.failure && !@serving
        return FAILED if @server.failure
        return @stops > 1 ? FAILED : CLEAN if @server.draining?

        @server.log.warn("the I/O loop has ended without being asked")
        FAILED
      end

      # It never served: the command says why.
      def refuse
        @server.log.flush(LOG_FLUSH_MS)
        raise @server.failure
      end

      def give_up
        @server.log.warn("requests are still running and cannot be ended: leaving without them")
        @server.abandon
        @server.log.flush(LOG_FLUSH_MS)
        @abandon.call(FAILED)
        FAILED
      end

      def seconds(number)
        format("%g s", number)
      end
    end
  end
end
