# frozen_string_literal: true

# The front of a server with several workers. It listens and owns all client connections (native I/O
# threads), and runs no application code. It has the interface of Server, for Server::Runner. The
# Supervisor manages the processes behind it.

require "neverblock/boot/cgroup"
require "neverblock/boot/processors"
require "neverblock/cluster/mold"
require "neverblock/cluster/origin"
require "neverblock/cluster/supervisor"
require "neverblock/cluster/title"
require "neverblock/config/settings"
require "neverblock/log"
require "neverblock/server"
require "neverblock/server/control/commands"

module NeverBlock
  module Cluster
    class Front
      # Why an application that was loaded before the server cannot be loaded again.
      LOADED_ELSEWHERE = "rackup, rails server or another program has loaded the application; " \
                         "start that program again, or serve with `neverblock`, which can reload"

      # @return [Config]
      attr_reader :config
      # @return [Log]
      attr_reader :log
      # @return [Server::IoLoop, nil] which has its sockets; nil before start
      attr_reader :io_loop

      # @param settings [Config::Settings]
      # @param origin [Origin, nil] starts molds; nil: the mold is forked from this process
      # @param environment [Config::Environment]
      # @param app [#call, nil] the application; only without origin
      # @param native [Module] the module of Engine and Log
      # @param inheritance [Server::Inheritance] sockets that addresses take
      def initialize(settings, origin: nil, environment: nil, app: nil, native: NeverBlock,
                     inheritance: Server::Inheritance.new)
        @settings = settings
        @config = settings.config
        @origin = origin
        @environment = environment
        @app = app
        @native = native
        @inheritance = inheritance
        @log = native::Log.new(config.log_fd)
        @log.format = config.log_format
        @lock = Mutex.new
      end

      # Listens, and starts workers. Returns when it listens: requests wait until a worker serves.
      # @param serving [#call, nil] called when workers serve
      # @yield when everything has ended, or the start has failed
      # @return [self]
      # @raise [StartError] when it cannot listen on an address
      def start(serving: nil, &on_end)
        raise Error, "this server was started before; make a new one" if @io_loop

        workers = Boot::Processors.workers(@settings[:workers])
        @io_loop = make_io_loop(workers)
        NeverBlock.subreaper
        first = fork_mold unless @origin
        @io_loop.start
        @supervisor = make_supervisor(workers, first)
        Title.set("front")
        @supervisor.on_serving = serving
        @thread = @supervisor.start(&on_end)
        self
      end

      # @return [Array<String>] addresses with their real ports; empty before start
      def urls
        @io_loop&.urls || []
      end

      # @return [String, nil] the admin address with its real port
      def admin_url
        @io_loop&.admin_url
      end

      # @return [Exception, nil] the reason why it could not start
      def failure
        @supervisor&.failure
      end

      # Starts to drain and returns at once. Thread-safe.
      # @return [void]
      def drain
        @draining = true
        @supervisor&.post(:drain)
      end

      # Starts to close every connection and returns at once. Thread-safe.
      # @return [void]
      def cut
        @draining = true
        @supervisor&.post(:cut)
      end

      # Thread-safe.
      # @return [Float, nil] seconds that at_exit blocks of workers may still take; nil: none run
      def exit_left
        @supervisor&.exit_left
      end

      # @return [Boolean] whether it was told to stop
      def draining?
        @draining || false
      end

      # @return [Boolean]
      def running?
        @thread&.alive? || false
      end

      # Has the files of certificates read anew. Returns at once. Thread-safe.
      # @return [Boolean] whether there are any
      def renew_certificates
        @io_loop&.renew_certificates || false
      end

      # Adds a worker. Returns at once. Thread-safe.
      # @return [void]
      def add_worker
        @supervisor&.post(:add_worker)
      end

      # Removes a worker. Returns at once. Thread-safe.
      # @return [void]
      def remove_worker
        @supervisor&.post(:remove_worker)
      end

      # Reads certificates anew, and starts new workers with new code. Without a block it returns at
      # once, and the log reports the result; with one it waits. Thread-safe, but with a block not
      # in a signal handler.
      # @yieldparam line [String] progress, on a thread of the server
      # @return [Array(Boolean, String), nil] whether the new version serves, and a line about it
      def reload(&progress)
        renew_certificates
        return @supervisor&.post(:reload, ->(_) {}, nil) unless progress

        answer = Thread::Queue.new
        @supervisor.post(:reload, answer.method(:push), progress)
        answer.pop
      end

      # @return [Array<Hash>] number, pid and state (:starting, :ready, :serving, :retiring) of each
      #   worker
      def workers
        @supervisor ? @supervisor.workers : []
      end

      # @return [Integer] number of versions of the application that have served, with this one
      def generation
        @supervisor ? @supervisor.generation : 0
      end

      # Waits until everything has ended, and closes it.
      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Boolean] false when the timeout passed first
      def wait(timeout = nil)
        return true unless @io_loop
        return false unless @thread.nil? || @thread.join(timeout)

        close
        true
      end

      # Stops listening, lets running requests end, and waits for them: at most the shutdown timeout
      # and Server::GRACE_S.
      # @param timeout [Numeric] seconds
      # @return [Boolean] whether everything has ended
      def stop(timeout: config.shutdown_timeout + Server::GRACE_S)
        drain
        return true if wait(timeout)

        cut
        wait(Server::GRACE_S)
      end

      # Called before the process exits without waiting for running requests.
      # @return [void]
      def abandon
        processes = Processes.new
        @supervisor&.pids&.each { |pid| processes.kill(pid) }
      end

      # @return [Hash{Symbol => Integer}] counters of the I/O loop; empty when it does not run
      def stats
        @lock.synchronize { @io_loop && !@closed ? @io_loop.engine.stats : {} }
      end

      private

      def close
        @lock.synchronize do
          return if @closed

          @io_loop.close
          @closed = true
        end
      end

      def make_io_loop(workers)
        on_download = ->(reports) { @supervisor.post(:downloads_ended, reports) }
        Server::IoLoop.new(config, log, native: @native, front: 1, processes: workers,
                                        on_download: on_download, inheritance: @inheritance,
                                        commands: Server::Control::Commands.new(self).to_h)
      end

      # @param first [MoldHandle, nil] the only mold there can be; nil: the origin starts molds
      def make_supervisor(workers, first)
        molds = first ? { molds: ->(_now) { first }, again: LOADED_ELSEWHERE } : molds_of_origin
        Supervisor.new(engine: @io_loop.engine, settings: @settings, log: log, workers: workers,
                       most: @io_loop.processes_max, spares: config.spares,
                       lanes: @io_loop.method(:lane_rules=),
                       processes: Processes.new(alone: !first), **molds)
      end

      def molds_of_origin
        { molds: ->(now) { MoldHandle.start(@origin, now) } }
      end

      # The application is loaded in this process, so its mold is forked before the engine starts
      # native threads.
      def fork_mold
        ours, theirs = Control.pair
        pid = fork do
          ours.close
          control = Control.new(theirs)
          mold = Mold.new(control)
          mold.guard { mold.run(@settings, @environment) { @app } }
        end
        MoldHandle.new(pid, Control.new(ours), Deadline.now)
      ensure
        theirs&.close
      end
    end
  end
end
