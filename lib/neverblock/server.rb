# frozen_string_literal: true

# A running server in this process: a configuration and an application become an engine (the native I/O loop) and executors, each on a Ruby thread
# of its own, so that the calling thread stays free for signals (a signal must not land on a thread that runs a scheduler).
#
# Signals, output and exit statuses are the business of Server::Runner; an application or a test may use this class alone.

require "neverblock/application"
require "neverblock/config"
require "neverblock/deadline"
require "neverblock/errors"
require "neverblock/log"
require "neverblock/log/core_lines"
require "neverblock/rack/request_log"

module NeverBlock
  class Server
    # Seconds beyond the shutdown timeout in which fibers whose connections are cut may clean up.
    GRACE_S = 5

    # @return [Config]
    attr_reader :config
    # @return [Array<String>] where it listens, with real ports; empty before start
    attr_reader :urls
    # @return [String, nil] where the admin pages are, with the real port; nil before start, and without them
    attr_reader :admin_url
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
      @urls = []
      @threads = []
      @lock = Mutex.new
      @draining = false
    end

    # Listens and begins to serve. Returns when connections are taken.
    # @yield when every executor has ended, on one of their threads
    # @return [self]
    # @raise [StartError] when an address cannot be had
    # @raise [Error] when it was started before
    def start(&on_end)
      raise Error, "this server was started before; make a new one" if @engine

      Application.require_rack
      open_engine
      executors = make_executors
      @engine.start
      @left = executors.size
      @threads = executors.each_with_index.map { |executor, number| run_executor(executor, number, on_end) }
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
      @engine&.drain
    end

    # Begins to cut everything and returns at once. Any thread.
    # @return [void]
    def cut
      @draining = true
      @engine&.stop_now
    end

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
      @lock.synchronize { @engine && !@closed ? @engine.stats : {} }
    end

    private

    def open_engine
      @core_lines = Log::CoreLines.new(log, request_shape) if config.log_format == :json || config.log_requests
      @engine = @native::Engine.new(**config.engine_options, version: VERSION, ruby_version: RUBY_VERSION, **{ log_fd: @core_lines&.fileno }.compact)
      config.routes.each { |route| @engine.route(route.pattern, route.input == :stream, route.cancel_on_disconnect) }
      listening = Listening.new(@engine, config.backlog)
      @urls = listening.open(config.binds).freeze
      @admin_url = listening.open_admin(config.admin) if config.admin
    rescue StandardError
      @engine&.close
      @core_lines&.close
      raise
    end

    # The fibers are shared out; the first executors take what is left over.
    def make_executors
      app = observed_app
      share, rest = config.fibers.divmod(config.executors)
      Array.new(config.executors) do |number|
        @native::Executor.new(@engine, app, fibers: share + (number < rest ? 1 : 0), log: log)
      end
    end

    def observed_app
      return @app unless config.log_requests

      RequestLog.new(@app, log, request_shape)
    end

    # JSON where only the entries of requests are to be that.
    def request_shape
      return unless config.log_requests == :json

      require "neverblock/log/json"
      @request_shape ||= Log::Json.new
    end

    def run_executor(executor, number, on_end)
      thread = Thread.new do
        Thread.current.report_on_exception = false
        executor.run
        finished = true
      rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, a server without its executor must end and say why
        finished = true
        fail_with(e, number)
      ensure
        fail_with(Error.new("its thread was ended (Thread.exit or Thread#kill) by a request or by something else"), number) unless finished
        on_end&.call if last_one?
      end
      thread.tap { thread.name = "nb-executor-#{number}" }
    end

    def fail_with(exception, number)
      @failure ||= exception
      log.error("executor #{number} has ended, and the server with it", exception)
      @engine.stop_now
    end

    def last_one?
      @lock.synchronize { (@left -= 1).zero? }
    end

    def close_engine
      @lock.synchronize do
        return if @closed || @engine.nil?

        @engine.join
        @engine.close
        @core_lines&.close
        @closed = true
      end
    end
  end
end

require "neverblock/server/listening"
require "neverblock/server/runner"
