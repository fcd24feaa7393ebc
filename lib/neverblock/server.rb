# frozen_string_literal: true

# A running server in this process: a configuration and an application become an engine (the native I/O loop) and executors, each on a Ruby thread
# of its own, so that the calling thread stays free for signals (a signal must not land on a thread that runs a scheduler).
#
# Signals, output and exit statuses are the business of Server::Runner; an application or a test may use this class alone.

require "neverblock/boot/application"
require "neverblock/config"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/log"
require "neverblock/rack/layers"
require "neverblock/server/serving"
require "neverblock/server/stalls"

module NeverBlock
  class Server
    # Seconds beyond the shutdown timeout in which fibers whose connections are cut may clean up.
    GRACE_S = 5

    # @return [Config]
    attr_reader :config
    # @return [Log]
    attr_reader :log
    # @return [Exception, nil] what ended an executor before its time
    attr_reader :failure

    # @param config [Config]
    # @param app [#call] a Rack application
    # @param log [Log, nil] nil: one of its own on config.log_fd
    # @param native [Module] where Engine, Executor and Log are
    def initialize(config, app, log: nil, native: NeverBlock)
      @config = config
      @app = app
      @native = native
      @log = log || native::Log.new(config.log_fd)
      @log.format = config.log_format
      @threads = []
      @lock = Mutex.new
      @draining = false
    end

    # @return [Array<String>] where it listens, with real ports; empty before start
    def urls
      @io_loop&.urls || []
    end

    # @return [String, nil] where the admin pages are, with the real port; nil before start, and without them
    def admin_url
      @io_loop&.admin_url
    end

    # Listens and begins to serve. Returns when connections are taken.
    # @param serving [#call, nil] called when requests are served
    # @yield when every executor has ended, on one of their threads
    # @return [self]
    # @raise [StartError] when an address cannot be had
    # @raise [Error] when it was started before
    def start(serving: nil, &on_end)
      raise Error, "this server was started before; make a new one" if @io_loop

      Application.require_rack
      NeverBlock.serving = Serving.new(fibers: config.fibers, log: log)
      @io_loop = IoLoop.new(config, log, native: @native)
      executors = make_executors
      @io_loop.engine.start
      @rules = LaneRules.follow(->(rules) { @io_loop.lane_rules = rules })
      serving&.call # before an executor can end
      @left = executors.size + @helpers.size
      run(executors, on_end)
      self
    end

    # Stops listening, lets running requests end, and waits for that, no longer than the shutdown timeout and a little.
    # From a thread of its own only, never from a request.
    # @param timeout [Numeric] seconds
    # @return [Boolean] whether everything has ended
    def stop(timeout: config.shutdown_timeout + GRACE_S)
      drain
      wait(timeout) or stop_now
    end

    # Cuts every connection, and waits for the fibers that lose theirs.
    # @param timeout [Numeric] seconds
    # @return [Boolean] whether everything has ended
    def stop_now(timeout: GRACE_S)
      cut
      wait(timeout)
    end

    # Begins to drain and returns at once. Any thread.
    # @return [void]
    def drain
      @draining = true
      @io_loop&.engine&.drain
    end

    # Begins to cut everything and returns at once. Any thread.
    # @return [void]
    def cut
      @draining = true
      @io_loop&.engine&.stop_now
    end

    # Before the process leaves without waiting for what still runs.
    # @return [void]
    def abandon; end

    # @return [Boolean] whether somebody asked it to end
    def draining?
      @draining
    end

    # @return [Boolean] whether an executor is still at work
    def running?
      @threads.any?(&:alive?)
    end

    # Waits until executors and I/O loop have ended, and closes them.
    # @param timeout [Numeric, nil] seconds; nil: for ever
    # @return [Boolean] false when the time was up first
    def wait(timeout = nil)
      limit = timeout && (Deadline.now + timeout)
      return false unless @threads.all? { |thread| thread.join(limit && [limit - Deadline.now, 0].max) }

      close_engine
      true
    end

    # @return [Hash{Symbol => Integer}] figures of the I/O loop; empty when it is not running
    def stats
      @lock.synchronize { @io_loop && !@closed ? @io_loop.engine.stats : {} }
    end

    private

    # The fibers are shared out; the first executors take what is left over.
    def make_executors
      app = Layers.around(@app, config, log)
      @stalls = Stalls.options(config)
      share, rest = config.fibers.divmod(config.executors)
      executors = Array.new(config.executors) { |number| make_executor(app, share + (number < rest ? 1 : 0)) }
      last = executors.first
      spares = Array.new(config.spares) { last = make_executor(app, share, helps: last) }
      @helpers = Helpers.new(spares, @io_loop.lanes.map { |lane| make_executor(app, 1, lane: lane) })
      executors
    end

    def make_executor(app, fibers, **words)
      @native::Executor.new(@io_loop.engine, app, fibers: fibers, log: log, **words, **config.executor_options, **@stalls)
    end

    def run(executors, on_end)
      mains = executors.each_with_index.map do |executor, number|
        ExecutorThread.start(executor, "nb-executor-#{number}") do |failure|
          @helpers.finish if number.zero?
          ended(failure, "executor #{number}", on_end)
        end
      end
      @helpers.start { |failure| ended(failure, "the executor of #{Thread.current.name}", on_end) }
      @threads = mains + @helpers.threads
    end

    def ended(failure, who, on_end)
      fail_with(failure, who) if failure
      on_end&.call if last_one?
    end

    def fail_with(exception, who)
      @failure ||= exception
      log.error("#{who} has ended, and the server with it", exception)
      @io_loop.engine.stop_now
    end

    def last_one?
      @lock.synchronize { (@left -= 1).zero? }
    end

    def close_engine
      @lock.synchronize do
        return if @closed || @io_loop.nil?

        LaneRules.unfollow(@rules)
        @io_loop.close
        @closed = true
      end
    end
  end
end

require "neverblock/server/executor_thread"
require "neverblock/server/helpers"
require "neverblock/server/io_loop"
require "neverblock/server/runner"
