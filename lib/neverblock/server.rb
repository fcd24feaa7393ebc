# frozen_string_literal: true

# A server in this process. It makes an engine (the native I/O loop) and executors from a
# configuration and an application. Each executor has a Ruby thread of its own, so that signals run
# on the calling thread: a signal handler must not run on a thread with a fiber scheduler.
#
# Server::Runner adds signals, output and exit statuses. A program or a test may use this class
# alone.

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
    # Seconds after the shutdown timeout in which fibers with closed connections may clean up.
    GRACE_S = 5

    # @return [Config]
    attr_reader :config
    # @return [Log]
    attr_reader :log
    # @return [Exception, nil] the exception that ended an executor
    attr_reader :failure

    # @param config [Config]
    # @param app [#call] a Rack application
    # @param log [Log, nil] nil: a new one on config.log_fd
    # @param native [Module] the module of Engine, Executor and Log
    # @param inheritance [Inheritance] sockets that addresses take
    def initialize(config, app, log: nil, native: NeverBlock, inheritance: Inheritance.new)
      @config = config
      @app = app
      @native = native
      @inheritance = inheritance
      @log = log || native::Log.new(config.log_fd)
      @log.format = config.log_format
      @threads = []
      @lock = Mutex.new
      @draining = false
    end

    # @return [Array<String>] addresses with their real ports; empty before start
    def urls
      @io_loop&.urls || []
    end

    # @return [IoLoop, nil] which has its sockets; nil before start
    attr_reader :io_loop

    # @return [String, nil] the admin address with its real port; nil before start, or without one
    def admin_url
      @io_loop&.admin_url
    end

    # Listens and starts to serve. Returns when connections are accepted.
    # @param serving [#call, nil] called once requests are served
    # @yield when every executor has ended, on the thread of the last one
    # @return [self]
    # @raise [StartError] when it cannot listen on an address
    # @raise [Error] when it was started before
    def start(serving: nil, &on_end)
      raise Error, "this server was started before; make a new one" if @io_loop

      Application.require_rack
      NeverBlock.serving = Serving.new(fibers: config.fibers, log: log)
      @io_loop = IoLoop.new(config, log, native: @native, inheritance: @inheritance)
      executors = make_executors
      @io_loop.start
      @rules = LaneRules.follow(->(rules) { @io_loop.lane_rules = rules })
      serving&.call # before an executor can end
      @left = executors.size + @helpers.size
      run(executors, on_end)
      self
    end

    # Stops listening, lets running requests end, and waits for them: at most the shutdown timeout
    # and GRACE_S. Not to be called from a request: it would wait for itself.
    # @param timeout [Numeric] seconds
    # @return [Boolean] whether everything has ended
    def stop(timeout: config.shutdown_timeout + GRACE_S)
      drain
      wait(timeout) or stop_now
    end

    # Closes every connection, and waits for the fibers that served them.
    # @param timeout [Numeric] seconds
    # @return [Boolean] whether everything has ended
    def stop_now(timeout: GRACE_S)
      cut
      wait(timeout)
    end

    # Starts to drain and returns at once. Thread-safe.
    # @return [void]
    def drain
      @draining = true
      @io_loop&.engine&.drain
    end

    # Starts to close every connection and returns at once. Thread-safe.
    # @return [void]
    def cut
      @draining = true
      @io_loop&.engine&.stop_now
    end

    # Has the files of certificates read anew. Returns at once. Thread-safe.
    # @return [Boolean] whether there are any
    def renew_certificates
      @io_loop&.renew_certificates || false
    end

    # Called before the process exits without waiting for running requests.
    # @return [void]
    def abandon; end

    # @return [Boolean] whether it was told to stop
    def draining?
      @draining
    end

    # @return [Boolean] whether an executor is running
    def running?
      @threads.any?(&:alive?)
    end

    # Waits until executors and I/O loop have ended, and closes them.
    # @param timeout [Numeric, nil] seconds; nil: no limit
    # @return [Boolean] false when the timeout passed first
    def wait(timeout = nil)
      limit = timeout && (Deadline.now + timeout)
      joined = @threads.all? { |thread| thread.join(limit && [limit - Deadline.now, 0].max) }
      return false unless joined

      close_engine
      true
    end

    # @return [Hash{Symbol => Integer}] counters of the I/O loop; empty when it does not run
    def stats
      @lock.synchronize { @io_loop && !@closed ? @io_loop.engine.stats : {} }
    end

    private

    # The fibers are divided among the executors; the first ones take the remainder.
    def make_executors
      app = Layers.around(@app, config, log)
      @stalls = Stalls.options(config)
      share, rest = config.fibers.divmod(config.executors)
      executors = Array.new(config.executors) do |number|
        make_executor(app, share + (number < rest ? 1 : 0))
      end
      last = executors.first
      spares = Array.new(config.spares) { last = make_executor(app, share, helps: last) }
      lanes = @io_loop.lanes.map { |lane| make_executor(app, 1, lane: lane) }
      @helpers = Helpers.new(spares, lanes)
      executors
    end

    def make_executor(app, fibers, **words)
      options = { fibers: fibers, log: log, **words, **config.executor_options, **@stalls }
      @native::Executor.new(@io_loop.engine, app, **options)
    end

    def run(executors, on_end)
      mains = executors.each_with_index.map do |executor, number|
        ExecutorThread.start(executor, "nb-executor-#{number}") do |failure|
          @helpers.finish if number.zero?
          ended(failure, "executor #{number}", on_end)
        end
      end
      @helpers.start do |failure|
        ended(failure, "the executor of #{Thread.current.name}", on_end)
      end
      @threads = mains + @helpers.threads
    end

    def ended(failure, who, on_end)
      fail_with(failure, who) if failure
      on_end&.call if last_one?
    end

    def fail_with(exception, who)
      @failure ||= exception
      log.error("#{who} has failed and ends the server", exception)
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
