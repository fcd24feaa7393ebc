# frozen_string_literal: true

# A server as a process: signals in, "Listening on URL" and an exit status out. Everything that happens is an event on one queue, read by the main
# thread; traps and executor threads only push.
#
#   TERM, INT                drain; exit status 0 when everything has ended
#   TERM or INT once more    cut everything; exit status 1
#   an executor ends alone   log entry; exit status 1

require "neverblock/errors"

module NeverBlock
  class Server
    class Runner
      STOP = %w[TERM INT].freeze
      # Signals of the interface that have no effect yet: what they will do.
      NOT_YET = { "HUP" => "reloading", "USR2" => "upgrading in place", "TTIN" => "adding a worker", "TTOU" => "removing a worker" }.freeze
      LOG_FLUSH_MS = 1_000
      # Seconds a cut server's fibers have to end before the process leaves without them.
      CUT_GRACE_S = 2

      CLEAN = 0
      FAILED = 1

      # @param server [Server] not started
      # @param out [IO] where "Listening on URL" goes
      # @param notices [Array<String>] lines for the log once it serves
      # @param later [#call] takes seconds and a block, and calls it then
      # @param abandon [#call] ends the process with a status, whatever its threads are doing
      def initialize(server, out: $stdout, notices: [], later: method(:later), abandon: ::Process.method(:exit!))
        @server = server
        @out = out
        @notices = notices
        @later = later
        @abandon = abandon
        @events = Thread::Queue.new
        @stops = 0
      end

      # Serves until told to stop.
      # @return [Integer] exit status
      # @raise [StartError]
      def run
        previous = trap_signals
        @server.start { @events << :ended }
        @notices.each { |line| @server.log.info(line) }
        announce
        status = handle_events
        @server.log.flush(LOG_FLUSH_MS)
        status
      ensure
        previous&.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
      end

      # As if the process had received it. Any thread, and traps.
      # @param name [String] without SIG
      # @return [void]
      def signal(name)
        @events << name
      end

      private

      def trap_signals
        (STOP + NOT_YET.keys).to_h { |name| [name, Signal.trap(name) { signal(name) }] }
      end

      def announce
        @server.urls.each { |url| @out.puts("Listening on #{url}") }
        @out.puts("Admin on #{@server.admin_url}") if @server.admin_url
        @out.flush
      rescue SystemCallError # EPIPE, ENOSPC
        @server.log.warn("nobody reads standard output: #{@server.urls.join(", ")} went unannounced")
      end

      def handle_events
        loop do
          case event = @events.pop
          when :ended then return ended
          when :overdue then return give_up
          when *STOP then stop(event)
          else @server.log.info("SIG#{event}: #{NOT_YET.fetch(event)} does not work yet; nothing is done")
          end
        end
      end

      def stop(name)
        @stops += 1
        case @stops
        when 1 then drain(name)
        when 2 then cut(name)
        end
      end

      def drain(name)
        @server.log.info("SIG#{name}: draining; requests have #{seconds(@server.config.shutdown_timeout)} to end, once more cuts them")
        @later.call(@server.config.shutdown_timeout + GRACE_S) { @events << :overdue }
        @server.drain
      end

      def cut(name)
        @server.log.info("SIG#{name} again: cutting what is left")
        @later.call(CUT_GRACE_S) { @events << :overdue }
        @server.cut
      end

      def ended
        @server.wait
        return FAILED if @server.failure
        return @stops > 1 ? FAILED : CLEAN if @server.draining?

        @server.log.warn("the I/O loop has ended without being asked")
        FAILED
      end

      def give_up
        @server.log.warn("requests are still running and cannot be ended: leaving without them")
        @server.log.flush(LOG_FLUSH_MS)
        @abandon.call(FAILED)
        FAILED
      end

      def later(seconds, &block)
        Thread.new do
          sleep(seconds)
          block.call
        end
      end

      def seconds(number)
        format("%g s", number)
      end
    end
  end
end
