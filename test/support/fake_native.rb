# frozen_string_literal: true

# The native half as a server sees it, without sockets: an engine that notes what it is asked,
# executors that run until their engine is told to end, a log that keeps its lines. Tests hold every
# switch.

require_relative "unit"
require "neverblock/log"

class FakeNative
  class Log < NeverBlock::Log
    attr_reader :flushed

    # Without super: the native part, where it is built, would write.
    def initialize(_fd = 2) # rubocop:disable Lint/MissingSuper
      @parts = Thread::Queue.new
      @text = +""
    end

    def write(text)
      @parts << text
      nil
    end

    def flush(_timeout_ms)
      @flushed = true
    end

    def dropped
      0
    end

    def text
      @text << @parts.pop until @parts.empty?
      @text
    end
  end

  class Engine
    attr_reader :options, :calls

    def initialize(failures, **options)
      @failures = failures
      @options = options
      @calls = []
      @listeners = 0
      @end = Thread::Queue.new
    end

    def listen_tcp(address, port, backlog)
      @calls << [:listen_tcp, address, port, backlog]
      fail_if_due

      port.zero? ? 40_123 : port
    end

    def listen_undo
      @calls << [:listen_undo]
      @listeners -= 1
      self
    end

    # How many are open.
    attr_reader :listeners

    def listener_tls(number, context)
      @calls << [:listener_tls, number, context]
      self
    end

    def listen_unix(path, mode, backlog)
      @calls << [:listen_unix, path, mode, backlog]
      fail_if_due
    end

    attr_writer :admin_page, :admin_host, :admin_token, :admin_advice, :lane_rules

    def admin_commands(*)
      self
    end

    def admin_tcp(address, port)
      @calls << [:admin_tcp, address, port]
      fail_if_due

      port.zero? ? 40_124 : port
    end

    def admin_unix(path, mode)
      @calls << [:admin_unix, path, mode]
      fail_if_due
    end

    # nil among the failures: that call works.
    def fail_if_due
      failure = @failures.shift
      raise failure if failure

      @listeners += 1
    end

    # Nothing of these is told: what they do is the engine's business.
    def lane(_threads, _queue)
      @lanes = @lanes.to_i + 1
    end

    def route(*)
      self
    end

    def compress_type(type)
      @calls << [:compress_type, type]
    end

    def learn_lanes(lane)
      lane
    end

    def start
      @calls << [:start]
    end

    # Executors end when the test says that the requests are done. A server that is cut ends at
    # once.
    def drain
      @calls << [:drain]
    end

    def stop_now
      @calls << [:stop_now]
      requests_end
    end

    def join
      @calls << [:join]
    end

    def close
      @calls << [:close]
    end

    # Requests whose client got no whole response.
    attr_writer :aborted

    def stats
      { requests: 7, aborted: @aborted.to_i }
    end

    def requests_end
      @end.close
    end

    def await_end
      @end.pop
    end

    def called?(name)
      @calls.any? { |call| call.first == name }
    end
  end

  Executor = Struct.new(:engine, :app, :options, :death) do
    def initialize(*)
      super
      @finished = Thread::Queue.new
    end

    def run
      raise death if death && !helper?

      helper? ? @finished.pop : engine.await_end
    end

    def finish
      @finished.close
    end

    # @return [Boolean] whether it is a spare or the thread of a lane
    def helper?
      !helps.nil? || options.key?(:lane)
    end

    # @return [Executor, nil] whose spare it is
    def helps
      options[:helps]
    end
  end

  # @param failures [Array<Exception>] raised by the next calls of listen
  # @param death [Exception, nil] what every executor ends with
  def initialize(failures: [], death: nil)
    @failures = failures
    @death = death
    @executors = []
    @built = {}
  end

  attr_reader :engine, :executors
  # @return [Hash{Symbol => Boolean}] what the native part was built with
  attr_accessor :built

  # @return [Module] to give to NeverBlock::Server as `native`
  def to_module
    fake = self
    Module.new do
      define_singleton_method(:built) { fake.built }
      const_set(:Log, Class.new(Log))
      const_set(:Engine, Class.new do
        define_singleton_method(:new) { |**options| fake.make_engine(options) }
      end)
      const_set(:Executor, Class.new do
        define_singleton_method(:new) do |engine, app, **options|
          fake.make_executor(engine, app, options)
        end
      end)
    end
  end

  def make_engine(options)
    @engine = Engine.new(@failures, **options)
  end

  def make_executor(engine, app, options)
    Executor.new(engine, app, options, @death).tap { |executor| @executors << executor }
  end
end
