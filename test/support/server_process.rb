# frozen_string_literal: true

# Starts the real command as a child, with an application given as the text of a rackup file, and
# holds it to its promises: it says where it listens in time, it ends with status 0 after TERM, and
# what it wrote to standard error is there for the test to read.
#
# NB_TEST_SERVER=puma runs the same suites against Puma, to prove the suites themselves.
# NB_TEST_WORKERS=2 runs them against a front with two workers, NB_TEST_IO_THREADS=2 with two I/O
# threads. NB_TEST_OVER=tls or h2 runs them over TLS or HTTP/2 (over.rb).

require "fileutils"
require "json"
require "rbconfig"
require "timeout"
require "tmpdir"

require_relative "over"
require_relative "patience"
require_relative "wire"

class ServerProcess
  class Failed < StandardError; end

  ROOT = File.expand_path("../..", __dir__)
  START_S = STOP_S = Patience::SECONDS
  # For what a killed server has written.
  KILLED_S = 2
  LISTENING = /Listening on (\S+)/
  ADMIN = /Admin on (\S+)/

  # Options of a server whose clients have all the time there is.
  UNHURRIED = ["-C", File.join(__dir__, "unhurried_config.rb")].freeze

  # `neverblock` of this tree.
  NEVERBLOCK = [RbConfig.ruby, "-I", File.join(ROOT, "lib"),
                File.join(ROOT, "exe/neverblock")].freeze

  # How each known server is started: from the rackup file, the bind URL and further options to the
  # words of the command.
  COMMANDS = {
    "neverblock" => lambda { |rackup, binds, options|
      [*NEVERBLOCK, rackup, *binds.flat_map { |url| ["-b", Over.bind(url)] },
       *workers(options), *io_threads(options), *options]
    },
    "puma" => lambda { |rackup, binds, options|
      at = options.index("-w")
      cluster = at ? ["-w", options[at + 1], "-t", "1:1"] : ["-t", "16:16"]
      urls = binds.map { |url| url.sub("http:", "tcp:") }
      ["puma", "-e", "none", *cluster, *urls.flat_map { |url| ["-b", url] }, rackup]
    }
  }.freeze

  def self.server_name
    ENV.fetch("NB_TEST_SERVER", "neverblock")
  end

  # Whether NB_TEST_WORKERS is what makes this server a front.
  def self.workers?(options)
    ENV.key?("NB_TEST_WORKERS") && (options & %w[-w --workers]).empty?
  end

  def self.workers(options)
    workers?(options) ? ["-w", ENV["NB_TEST_WORKERS"]] : []
  end

  def self.io_threads(options)
    return [] if !ENV.key?("NB_TEST_IO_THREADS") || options.include?("--io-threads")

    ["--io-threads", ENV["NB_TEST_IO_THREADS"]]
  end

  # Further words of the command for a server whose test is about one process, whatever
  # NB_TEST_WORKERS says. The reasons are told after the tests.
  # @param reason [String] what of the test is
  # @return [Array<String>]
  def self.one_process(reason)
    return [] unless ENV.key?("NB_TEST_WORKERS")

    if ONE_PROCESS.empty?
      Minitest.after_run do
        puts "", "Run with one process, not #{ENV["NB_TEST_WORKERS"]} workers:",
             ONE_PROCESS.uniq.sort.map { |why| "  #{why}" }
      end
    end
    ONE_PROCESS << reason
    %w[-w 1]
  end
  ONE_PROCESS = []

  # @yieldparam server [ServerProcess] listening
  def self.run(*words, **options)
    server = new(*words, **options).start
    begin
      yield server
    ensure
      server.stop
    end
  end

  attr_reader :urls, :pid, :status
  # Where the admin pages are; nil without --admin among the options.
  attr_reader :admin_url

  # @param app [String] text of a rackup file
  # @param binds [Array<String>] URLs to listen on
  # @param options [Array<String>] further words of the command
  # @param env [Hash] environment of the child
  # @param wrap [Array<String>] words to put before the command, such as a shell that lowers a limit
  # @param settings [Hash, nil] what the I/O loop is told, through the Ruby API instead of the
  #   command
  def initialize(app, binds: ["http://127.0.0.1:0"], options: [], env: {}, wrap: [], settings: nil)
    @app = app
    @binds = binds
    @options = options
    @env = env
    @wrap = wrap
    @settings = settings
    @directory = Dir.mktmpdir("neverblock-test")
    @urls = []
  end

  def url
    @urls.fetch(0)
  end

  # Starts it without waiting until it listens.
  def launch
    spawn_child
    self
  end

  def start
    spawn_child
    await_listening
    self
  rescue StandardError
    kill
    raise
  end

  # Sends TERM and waits.
  # @param expect [Integer, nil] the exit status; nil for any
  # @raise [Failed] when it does not end in time or ends otherwise
  def stop(expect: 0, signal: "TERM")
    return @status if @status

    Process.kill(signal, @pid)
    wait(STOP_S) or begin
      kill
      raise Failed, "still running #{STOP_S} s after #{signal}\n#{stderr}"
    end
    check_status(expect) if expect && self.class.server_name == "neverblock"
    @status
  ensure
    FileUtils.rm_rf(@directory) if @status
  end

  # @return [Process::Status, nil] nil when it still runs after that many seconds
  def wait(seconds)
    limit = Patience::Limit.new(seconds)
    until (done = Process.wait(@pid, Process::WNOHANG))
      return nil if limit.over?

      sleep 0.005
    end
    @status = $? if done
  ensure
    finish_reader if @status
  end

  def kill
    return unless @pid && !@status

    Process.kill("KILL", @pid)
    Process.wait(@pid)
    @status = $?
    finish_reader(KILLED_S)
    FileUtils.rm_rf(@directory)
  end

  def running?
    @status.nil? && !wait(0)
  end

  # What it wrote to standard error so far.
  def stderr
    return @stderr_text.to_s unless @stderr_path && File.exist?(@stderr_path)

    @stderr_text = File.read(@stderr_path)
  end

  # Waits until standard error matches; logs are written by a thread of their own.
  # @raise [Failed] after `seconds`
  def await_stderr(pattern, seconds: Patience::SECONDS)
    limit = Patience::Limit.new(seconds)
    until (match = pattern.match(stderr))
      if limit.over?
        raise Failed, "no #{pattern.inspect} on standard error within #{seconds} s:\n#{stderr}"
      end

      sleep 0.005
    end
    match
  end

  def stdout
    @output.dup
  end

  # @yieldparam client [Wire::Client]
  def connect(**options, &block)
    Wire::Client.open(url, **options, &block)
  end

  # Resident memory in bytes, now; of all its processes.
  def resident_bytes
    processes.sum { |pid| File.read("/proc/#{pid}/status")[/^VmRSS:\s+(\d+) kB/, 1].to_i * 1024 }
  end

  # The most resident memory there ever was, in bytes; of all its processes.
  def resident_peak_bytes
    processes.sum { |pid| File.read("/proc/#{pid}/status")[/^VmHWM:\s+(\d+) kB/, 1].to_i * 1024 }
  end

  # Seconds of processor used so far; by all its processes.
  def processor_s
    processes.sum { |pid| statistics(pid).values_at(11, 12).sum(&:to_i) / 100.0 }
  end

  # @param of [Array<Integer>] process ids
  def open_descriptors(of: [@pid])
    of.sum { |pid| Dir.children("/proc/#{pid}/fd").size }
  end

  # @return [Array<Integer>] process ids: its own, and with workers those of the mold and of the
  #   workers
  def processes
    return [@pid] unless workers

    numbers = Dir.children("/proc").grep(/\A\d+\z/)
    parents = numbers.to_h { |pid| [pid.to_i, statistics(pid)[1].to_i] }
    family = [@pid]
    family.each do |parent|
      family.concat(parents.select { |_, its| its == parent }.keys) # grows on the way
    end
  end

  def in_directory(name)
    File.join(@directory, name)
  end

  private

  def spawn_child
    rackup = File.join(@directory, "config.ru")
    File.write(rackup, @app)
    @stderr_path = File.join(@directory, "stderr")
    @output = +""
    reader, writer = IO.pipe
    env = { "NB_TEST_WORKERS" => workers }.merge(@env)
    @pid = Process.spawn(env, *@wrap, *words(rackup),
                         out: writer, err: @stderr_path, in: File::NULL, chdir: @directory)
    writer.close
    @lines = Queue.new
    @reader = Thread.new { read_output(reader) }
  end

  # @return [Array<String>] the fields of proc(5) behind the command's name, from the third on
  def statistics(pid)
    File.read("/proc/#{pid}/stat").rpartition(")").last.split
  rescue SystemCallError # it has ended since
    []
  end

  # What its application is told of it (AppProcesses), and server_process_engine.rb.
  def workers
    ENV["NB_TEST_WORKERS"] if self.class.workers?(@options)
  end

  def words(rackup)
    if @settings
      engine = File.join(__dir__, "server_process_engine.rb")
      return [RbConfig.ruby, engine, rackup, JSON.generate(@settings), Over.bind(@binds.first)]
    end

    COMMANDS.fetch(self.class.server_name).call(rackup, @binds, @options)
  end

  def read_output(reader)
    reader.each_line do |line|
      @output << line
      @lines << line
    end
  ensure
    reader.close
    @lines.close
  end

  def await_listening
    late = "not listening within #{START_S} s; standard output: #{@output.inspect}; " \
           "standard error: #{stderr}"
    Timeout.timeout(START_S, Failed, late) do
      while @urls.size < @binds.size || (@options.include?("--admin") && @admin_url.nil?)
        line = @lines.pop or
          raise Failed, "ended before it listened: #{wait(STOP_S).inspect}\n#{@output}#{stderr}"
        @urls << Regexp.last_match(1) if line =~ LISTENING
        @admin_url = Regexp.last_match(1) if line =~ ADMIN
      end
    end
  end

  def check_status(expect)
    return if @status.exited? && @status.exitstatus == expect

    raise Failed, "ended with #{@status.inspect} after TERM, expected #{expect}\n#{stderr}"
  end

  # @param seconds [Numeric] after so long, processes that it has made keep its output open
  def finish_reader(seconds = Patience::SECONDS)
    @stderr_text = stderr
    @reader&.join(seconds) || @reader&.kill
  end
end
