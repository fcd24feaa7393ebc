# frozen_string_literal: true

# The front of a server with several workers: it listens and speaks with every client (native I/O threads), and runs no application code. Towards Server::Runner it
# has the face of a Server; what happens behind it is the Supervisor's.

require "neverblock/boot/cgroup"
require "neverblock/boot/processors"
require "neverblock/cluster/mold"
require "neverblock/cluster/origin"
require "neverblock/cluster/supervisor"
require "neverblock/cluster/title"
require "neverblock/config/settings"
require "neverblock/log"
require "neverblock/server"

module NeverBlock
  module Cluster
    class Front
      # Why an application that was there before the server cannot be loaded again.
      LOADED_ELSEWHERE = "the application was loaded by rackup, by rails server or by a program of its own: start that again, or serve with `neverblock`, which can reload"

      # @return [Config]
      attr_reader :config
      # @return [Log]
      attr_reader :log

      # @param settings [Config::Settings]
      # @param origin [Origin, nil] how to start molds; nil: one is forked from this process
      # @param environment [Config::Environment]
      # @param app [#call, nil] without origin: the application
      # @param native [Module] where Engine and Log are
      def initialize(settings, origin: nil, environment: nil, app: nil, native: NeverBlock)
        @settings = settings
        @config = settings.config
        @origin = origin
        @environment = environment
        @app = app
        @native = native
        @log = native::Log.new(config.log_fd)
        @log.format = config.log_format
        @lock = Mutex.new
      end

      # Listens, and starts workers. Returns when it listens: requests wait until a worker serves.
      # @param serving [#call, nil] called when workers serve
      # @yield when everything has ended, or the start has failed
      # @return [self]
      # @raise [StartError] when an address cannot be had
      def start(serving: nil, &on_end)
        raise Error, "this server was started before; make a new one" if @io_loop

        workers = Boot::Processors.workers(@settings[:workers])
        @io_loop = Server::IoLoop.new(config, log, native: @native, front: 1, processes: workers, on_download: ->(reports) { @supervisor.post(:downloads_ended, reports) })
        NeverBlock.subreaper
        first = fork_mold unless @origin
        @io_loop.engine.start
        @supervisor = Supervisor.new(engine: @io_loop.engine, settings: @settings, log: log, workers: workers, spares: config.spares, lanes: @io_loop.method(:lane_rules=),
                                     processes: Processes.new(alone: !first), **(first ? { molds: ->(_now) { first }, again: LOADED_ELSEWHERE } : molds_of_origin))
        Title.set("front")
        @supervisor.on_serving = serving
        @thread = @supervisor.start(&on_end)
        self
      end

      # @return [Array<String>] where it listens, with real ports; empty before start
      def urls
        @io_loop&.urls || []
      end

      # @return [String, nil] where the admin pages are, with the real port
      def admin_url
        @io_loop&.admin_url
      end

      # @return [Exception, nil] why it could not start
      def failure
        @supervisor&.failure
      end

      # Begins to drain and returns at once. Any thread.
      # @return [void]
      def drain
        @draining = true
        @supervisor&.post(:drain)
      end

      # Begins to cut everything and returns at once. Any thread.
      # @return [void]
      def cut
        @draining = true
        @supervisor&.post(:cut)
      end

      # @return [Boolean] whether somebody asked it to end
      def draining?
        @draining || false
      end

      # @return [Boolean]
      def running?
        @thread&.alive? || false
      end

      # A worker more. Returns at once. Any thread.
      # @return [void]
      def add_worker
        @supervisor&.post(:add_worker)
      end

      # A worker less.
      # @return [void]
      def remove_worker
        @supervisor&.post(:remove_worker)
      end

      # New workers with new code. Without a block it returns at once, and the log says the rest; with one it waits. Any thread but a signal handler's.
      # @yieldparam line [String] progress, on a thread of the server's
      # @return [Array(Boolean, String), nil] whether the new version serves, and a line about that
      def reload(&progress)
        return @supervisor&.post(:reload, ->(_) {}, nil) unless progress

        answer = Thread::Queue.new
        @supervisor.post(:reload, answer.method(:push), progress)
        answer.pop
      end

      # @return [Array<Hash>] number, pid and state (:starting, :ready, :serving, :retiring) of each worker there is
      def workers
        @supervisor ? @supervisor.workers : []
      end

      # @return [Integer] how many versions of the application have served, this one counted
      def generation
        @supervisor ? @supervisor.generation : 0
      end

      # Waits until everything has ended, and closes it.
      # @param timeout [Numeric, nil] seconds; nil: for ever
      # @return [Boolean] false when the time was up first
      def wait(timeout = nil)
        return true unless @io_loop
        return false unless @thread.nil? || @thread.join(timeout)

        close
        true
      end

      # Stops listening, lets running requests end, and waits for that, no longer than the shutdown timeout and a little.
      # @param timeout [Numeric] seconds
      # @return [Boolean] whether everything has ended
      def stop(timeout: config.shutdown_timeout + Server::GRACE_S)
        drain
        return true if wait(timeout)

        cut
        wait(Server::GRACE_S)
      end

      # Before the process leaves without waiting for what still runs.
      # @return [void]
      def abandon
        processes = Processes.new
        @supervisor&.pids&.each { |pid| processes.kill(pid) }
      end

      # @return [Hash{Symbol => Integer}] figures of the I/O loop; empty when it is not running
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

      def molds_of_origin
        { molds: ->(now) { MoldHandle.start(@origin, now) } }
      end

      # The application is in this process: its mold is forked before there is any native thread of the engine's.
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
