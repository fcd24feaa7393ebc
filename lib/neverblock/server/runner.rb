# frozen_string_literal: true

# Runs a server as a process: handles signals, prints "Listening on URL", returns an exit status.
# Everything that happens is an event on one queue, which the main thread reads; signal handlers and
# executor threads only push.
#
#   TERM, INT, QUIT          drain; exit status 0 when everything has ended
#   one of these once more   close every connection; exit status 1. The same signal within a second
#                            is the first one: timeout(1) and others send each signal twice
#   HUP                      read certificates anew, and replace workers by new ones with new code
#                            (Cluster::Front); if the terminal is closed: like TERM
#   TTIN, TTOU               add a worker, remove a worker (Cluster::Front)
#   USR2                     start a new process in its place (Upgrade)
#   USR1                     log entry: what else there is
#   an executor fails        log entry; exit status 1

require "neverblock/errors"
require "neverblock/server/later"
require "neverblock/server/service_manager"
require "neverblock/server/terminal"
require "neverblock/server/upgrade"
require "neverblock/verbs/deadline"

module NeverBlock
  class Server
    class Runner
      STOP = %w[TERM INT QUIT].freeze
      # Signals for a server with workers, and its methods.
      WITH_WORKERS = { "HUP" => :reload, "TTIN" => :add_worker, "TTOU" => :remove_worker }.freeze
      # Signals that do nothing, and what is said of them.
      TOLD = {
        "USR1" => "HUP or `neverblock reload` loads new code; nothing is done"
      }.freeze
      UPGRADE = "USR2"
      # An application that traps one of these keeps it.
      YIELDED = %w[QUIT USR1].freeze
      HANGUP = "HUP"
      LOG_FLUSH_MS = 1_000
      # Seconds fibers have to end after every connection was closed; then the process exits.
      CUT_GRACE_S = 2
      # A stop signal that comes again within this time is not a second one.
      SAME_S = 1.0

      CLEAN = 0
      FAILED = 1

      # @param server [Server, Cluster::Front] not started
      # @param out [IO] receives "Listening on URL"
      # @param notices [Array<String>] log lines for when it serves
      # @param later [#call] called with seconds and a block, which it calls after that time
      # @param abandon [#call] ends the process with a status, whatever its threads do
      # @param greet [#call, nil] called with the server once it listens
      # @param again [Boot::Again, nil] starts this command again; nil: nothing can
      # @param manager [ServiceManager]
      # @param clock [#call] monotonic seconds
      def initialize(server, out: $stdout, notices: [], later: Later.new, greet: nil, again: nil,
                     manager: ServiceManager.of, abandon: ::Process.method(:exit!),
                     clock: Deadline.method(:now))
        @server = server
        @out = out
        @notices = notices
        @later = later
        @abandon = abandon
        @clock = clock
        @greet = greet
        @starter = again
        @manager = manager
        @events = Thread::Queue.new
        @terminal = Terminal.new
        @stops = 0
        @lock = Mutex.new
      end

      # Serves until it is told to stop.
      # @return [Integer] exit status
      # @raise [StartError]
      def run
        previous = trap_signals
        @server.start(serving: -> { @events << :serving }) { @events << :ended }
        status = handle_events
        @upgrade&.wait_for_end
        @server.log.flush(LOG_FLUSH_MS)
        status
      ensure
        @manager.close
        previous&.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
      end

      # Loads new code: by new workers, or by draining and starting the process again. Thread-safe.
      # @return [void]
      def restart
        @events << :restart
      end

      # @return [Boolean] whether it drained in order to be started again
      def again?
        @again || false
      end

      # Starts a new process in place of this one, and waits until it serves; then this one drains.
      # Thread-safe.
      # @yieldparam line [String] progress
      # @return [Integer] its id
      # @raise [Error] with the reason why this process goes on alone
      def upgrade(&progress)
        upgrade = begin_upgrade
        pid = upgrade.call(&progress)
        @server.io_loop.keep_paths
        @manager.replaced_by(pid)
        @successor = pid
        @events << :upgraded
        pid
      ensure
        @lock.synchronize { @upgrade = nil } if upgrade
      end

      # Acts as if the process had received a signal. Thread-safe; allowed in signal handlers.
      # @param name [String] without SIG
      # @return [void]
      def signal(name)
        @events << name
      end

      private

      def trap_signals
        names = STOP + WITH_WORKERS.keys + TOLD.keys + [UPGRADE]
        previous = names.to_h { |name| [name, Signal.trap(name) { signal(name) }] }
        YIELDED.each { |name| Signal.trap(name, previous[name]) if previous[name].is_a?(Proc) }
        @terminal.was_handled_by(previous["HUP"])
        previous
      end

      def serving
        @serving = true
        @notices.each { |line| @server.log.info(line) }
        announce
        @manager.ready(@server.urls)
        @greet&.call(@server)
      end

      # Standard output is unbuffered from here on, so that an application's output is seen at once.
      def announce
        @out.sync = true if @out.respond_to?(:sync=)
        @server.urls.each { |url| @out.puts("Listening on #{url}") }
        @out.puts("Admin on #{@server.admin_url}") if @server.admin_url
        @out.flush
      rescue SystemCallError # EPIPE, ENOSPC
        @server.log.warn("standard output is closed: nobody was told of " \
                         "#{@server.urls.join(", ")}")
      end

      def handle_events
        loop do
          case event = @events.pop
          when :serving then serving
          when :ended then return ended
          when :overdue then return give_up unless await_exits
          when :restart then start_again
          when :upgraded then stop("UPGRADE")
          when UPGRADE then upgrade_beside
          when *STOP then stop(event)
          when HANGUP then @terminal.gone? ? hang_up : renew
          when *WITH_WORKERS.keys then to_workers(event)
          else tell(event)
          end
        end
      end

      def tell(name)
        @server.log.info("SIG#{name}: #{TOLD.fetch(name)}")
      end

      def start_again
        return @server.reload if @server.respond_to?(:reload)
        return if @stops.positive?

        @again = true
        @starter&.keep(@server)
        stop("RESTART")
      end

      def begin_upgrade
        raise Error, Upgrade::ELSEWHERE unless @starter

        @lock.synchronize do
          raise Error, "no upgrade: this server drains already" if @stops.positive?
          raise Error, "an upgrade is under way" if @upgrade

          @upgrade = @starter.upgrade(@server)
        end
      end

      # On a thread, as the application may take long to load.
      def upgrade_beside
        thread = Thread.new do
          upgrade { |line| @server.log.info("SIG#{UPGRADE}: #{line}") }
        rescue Error => e
          @server.log.error("SIG#{UPGRADE}: #{e.message}")
        end
        thread.name = "nb-upgrade"
      end

      # The kernel and a shell may both send HUP; neither counts as the second signal.
      def hang_up
        return if @stops.positive?

        @server.log.info("its terminal is closed")
        stop(HANGUP)
      end

      # A reload reads certificates as well.
      def renew
        return to_workers(HANGUP) if @server.respond_to?(:reload) || !@server.renew_certificates

        @server.log.info("SIGHUP: its certificates are read anew")
      end

      def to_workers(name)
        verb = WITH_WORKERS.fetch(name)
        return @server.public_send(verb) if @server.respond_to?(verb)

        @server.log.info("SIG#{name}: #{NO_WORKERS}#{way_to_reload if name == HANGUP}; " \
                         "nothing is done")
      end

      def way_to_reload
        @starter&.upgrades? ? UPGRADES : ELSEWHERE
      end
      NO_WORKERS = "this server is one process and has no workers (it needs -w 2 or more)"
      UPGRADES = ", and `neverblock upgrade` or USR2 loads new code"
      ELSEWHERE = ", and loads new code when the program that has started it is started again"
      private_constant :NO_WORKERS, :UPGRADES, :ELSEWHERE

      def stop(name)
        return twice(name) if same_as_first?(name)

        @stops += 1
        @upgrade&.give_up
        case @stops
        when 1 then drain(name)
        when 2 then cut(name)
        end
        @first ||= [name, @clock.call]
      end

      def twice(name)
        return unless @stops == 1

        @server.log.info("SIG#{name} twice within a second is one; another aborts requests")
      end

      # `neverblock stop --now` sends two different ones, which are two.
      def same_as_first?(name)
        @first && @first[0] == name && @clock.call - @first[1] < SAME_S
      end

      def drain(name)
        tell_manager
        @aborted_before = aborted
        cause = cause_of(name)
        time = seconds(@server.config.shutdown_timeout)
        @server.log.info("#{cause}: draining; requests have #{time} to end; a second signal " \
                         "aborts them")
        # One timer after the other: if the process was stopped for longer than both (docker pause),
        # requests are still aborted before it exits.
        @later.call(@server.config.shutdown_timeout) do
          @later.call(GRACE_S) { @events << :overdue }
        end
        @server.drain
      end

      def tell_manager
        return if @successor

        @again ? @manager.restarting : @manager.stopping
      end

      def cause_of(name)
        return "process #{@successor} serves in place of this one" if @successor

        @again ? "starting again" : "SIG#{name}"
      end

      def cut(name)
        @server.log.info("SIG#{name} again: closing all connections")
        @later.call(CUT_GRACE_S) { @events << :overdue }
        @server.cut
      end

      def ended
        @server.wait
        refuse if @server.failure && !@serving
        return FAILED if @server.failure
        return stopped if @server.draining?

        @server.log.warn("the I/O loop has ended without being told to")
        FAILED
      end

      def stopped
        say_stopped
        @stops > 1 ? FAILED : CLEAN
      end

      def say_stopped
        count = aborted - @aborted_before.to_i
        cut = "; #{count} request#{count == 1 ? " was" : "s were"} cut" if count.positive?
        @server.log.info("#{end_of_what}#{cut}")
      end

      def end_of_what
        return "process #{::Process.pid} has stopped" if @successor

        @again ? "stopped, to start again" : "stopped"
      end

      def aborted
        @server.io_loop&.aborted.to_i
      end

      # The start failed; the command prints the reason.
      def refuse
        @server.log.flush(LOG_FLUSH_MS)
        raise @server.failure
      end

      # At_exit blocks of workers that began late have some seconds of their own, once.
      # @return [Boolean] whether there is something to wait for
      def await_exits
        return false if @stops > 1 || @awaits_exits || !@server.respond_to?(:exit_left)

        left = @server.exit_left or return false
        @later.call(left) { @events << :overdue }
        @awaits_exits = true
      end

      def give_up
        @server.log.warn("running requests do not end: exiting without them")
        @server.abandon
        say_stopped
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
