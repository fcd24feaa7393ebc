# frozen_string_literal: true

# What a supervisor of workers has around it, without processes: an engine whose channels note what
# they are told, molds and workers that a test plays by their control sockets, a clock that stands.
# Every step is the test's.

require_relative "fake_native"
require_relative "patience"
require "neverblock"
require "neverblock/cluster/front"

class FakeCluster
  Channel = Struct.new(:number, :calls, :cost, :figures, :running, :pid, :pipes, :engine) do
    def descriptors
      pipes.map(&:fileno)
    end

    def links = 1

    def handed_over
      pipes.each(&:close)
    end

    def place?
      engine.place?
    end

    def serve
      raise engine.refusal if engine.refusal

      calls << :serve
    end

    def retire = calls << :retire
    def interrupt = calls << :interrupt

    def end
      calls << :end
      cost
    end
  end

  class Engine
    attr_reader :channels, :calls
    # refusal: what #serve raises. places: how many channels can serve and end; nil: any number.
    attr_accessor :unavailable, :running, :failures, :refusal, :places

    def initialize
      @channels = []
      @calls = []
      @running = true
      @failures = []
    end

    def channel(number, _spares = 0)
      raise @failures.shift unless @failures.empty?

      cost = { failed: 0, cut: 0, again: 0, lines: [] }
      figures = { running: 0, taken: 0, busy_ns: 0 }
      channel = Channel.new(number, [], cost, figures, [], nil, IO.pipe + IO.pipe, self)
      @channels << channel
      channel
    end

    def place?
      used = @channels.count { |one| one.calls.include?(:serve) && !one.calls.include?(:end) }
      places.nil? || used < places
    end

    def drain = @calls << :drain

    def stop_now
      @calls << :stop_now
    end

    def running? = @running
  end

  class Processes
    attr_reader :killed, :ended, :bytes, :gone, :unreaped

    def initialize
      @killed = []
      @ended = {}
      @bytes = {}
      @gone = []
      @unreaped = {}
    end

    def kill(pid)
      @killed << pid if pid
    end

    def reap(_known)
      @ended.dup.tap { @ended.clear }
    end

    def alive?(pid)
      !@gone.include?(pid)
    end

    def remains(pid)
      @unreaped[pid]
    end

    def resident_bytes(pid)
      @bytes[pid]
    end
  end

  # A mold, played by the test.
  Mold = Struct.new(:pid, :control, :cluster, :handle) do
    def loaded(settings: NeverBlock::Cluster::Settings.of(cluster.settings), threads: [],
               notices: [])
      control.tell({ event: "loaded", settings: settings, threads: threads, notices: notices })
      cluster.step
    end

    def says(**message)
      control.tell(message)
      cluster.step
    end

    # Does what it was told to.
    # @return [Array<Worker>] those it has forked
    def obey
      heard.filter_map do |message|
        next quit if message[:do] == "quit"

        *pipes, socket = control.take(5)
        pipes.each(&:close)
        pid = cluster.next_pid
        control.tell({ event: "forked", id: message[:id], pid: pid })
        control = NeverBlock::Cluster::Control.new(socket)
        Worker.new(message[:id], message[:number], pid, control, self)
      end.tap { cluster.step }
    end

    # A read ends where descriptors begin.
    def heard
      messages = []
      while (more = control.read)&.any?
        messages.concat(more)
      end
      messages
    end

    def inspect = "#<mold #{pid}>"

    def quit
      self[:handle] = :quit
      nil
    end

    def quit? = handle == :quit

    def ends(code: nil, signal: nil)
      cluster.processes.ended[pid] = { code: code, signal: signal }
      control.close
      2.times { cluster.step }
    end
  end

  # A worker, played by the test.
  Worker = Struct.new(:id, :number, :pid, :control, :mold) do
    def ready
      control.tell({ event: "ready" })
      mold.cluster.step
      self
    end

    def says(**message)
      control.tell(message)
      mold.cluster.step
    end

    # Dies, and its mold says how.
    def ends(code: nil, signal: nil)
      control.close
      mold.says(event: "ended", id: id, pid: pid, code: code, signal: signal)
    end

    def inspect = "#<worker #{number} #{pid}>"

    def channel
      mold.cluster.channel_of(self)
    end

    def told
      Array(control.read)
    end
  end

  def inspect = "#<cluster>"

  attr_reader :engine, :processes, :supervisor, :molds, :log, :settings, :events, :lanes
  attr_accessor :now, :mold_failures, :oom_kills

  # @param workers [Integer]
  # @param again [String, nil] why there is no second mold
  # @param most [Integer] how many workers there are places for
  # @param file [Hash] settings
  def initialize(workers: 2, again: nil, most: 128, **file)
    @settings = NeverBlock::Config::Settings.new(file: { workers: workers, **file })
    @engine = Engine.new
    @processes = Processes.new
    @log = FakeNative::Log.new
    @molds = []
    @mold_failures = []
    @events = []
    @lanes = []
    @now = 1_000.0
    @pid = 100
    @oom_kills = 0
    @supervisor = NeverBlock::Cluster::Supervisor.new(
      engine: @engine, settings: @settings, log: @log, molds: method(:make_mold), again: again,
      processes: @processes, killed: self, clock: -> { @now }, lanes: @lanes.method(:<<),
      most: most
    )
    @supervisor.on_serving = -> { @events << :serving }
    step
  end

  def make_mold(since)
    raise @mold_failures.shift unless @mold_failures.empty?

    ours, theirs = NeverBlock::Cluster::Control.pair
    mold = Mold.new(next_pid, NeverBlock::Cluster::Control.new(theirs), self)
    @molds << mold
    NeverBlock::Cluster::MoldHandle.new(mold.pid, NeverBlock::Cluster::Control.new(ours), since)
  end

  def next_pid
    @pid += 1
  end

  def mold = @molds.last

  def step
    @supervisor.step(0)
  end

  # Time goes by, a second at a time.
  def pass(seconds)
    seconds.times do
      @now += 1.0
      step
    end
  end

  def channel_of(worker)
    @engine.channels.find { |channel| channel.pid == worker.pid }
  end

  # A cluster that serves.
  # @return [Array<Worker>]
  def serving
    mold.loaded
    mold.obey.each(&:ready)
  end

  def post(verb, *arguments)
    @supervisor.post(verb, *arguments)
    step
  end
end
