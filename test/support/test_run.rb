# frozen_string_literal: true

# What bin/test does after setting up. It finds the tests of each suite, runs every suite in a
# process group of its own within a time limit, adds up what they report, names each skip with its
# reason, and ends with one line of counts. A suite that dies without reporting counts as one
# failure.

require "json"
require "stringio"
require "tempfile"
require "timeout"

require_relative "test_run/tally"
require_relative "test_run/child"
require_relative "test_run/last_words"
require_relative "test_run/ruby_suite"
require_relative "test_run/c_suite"

class TestRun
  ROOT = File.expand_path("../..", __dir__)
  RUBY_SUITES = %w[check unit hooks clients gems integration conformance slow].freeze
  SUITES = (["c"] + RUBY_SUITES).freeze
  ON_REQUEST = %w[clients gems slow].freeze
  # What --over takes (over.rb), and the suites that it is for.
  OVER = %w[plain tls h2].freeze
  WITH_SERVERS = %w[integration conformance].freeze
  # With several at a time: in how many parts those run that are much longer than the others, and
  # what begins first.
  PARTS = { "integration" => 4, "unit" => 2 }.freeze
  LONGEST_FIRST = ["c (tsan)", "integration", "c (asan)", "hooks", "unit"].freeze
  SLOWEST = 30

  # @param arguments [Array<String>] as typed after bin/test
  def initialize(arguments, root: ROOT, out: $stdout)
    @root = root
    @out = out
    @options = { verbose: false, seed: nil, list: false, again: false, times: false, jobs: 1 }
    @chosen = []
    @filters = []
    parse(arguments.dup)
  end

  # @return [Integer] the exit status: 0, or 1 when something failed or nothing matched
  def run
    return refuse(@error) if @error

    suites = self.suites.reject(&:empty?)
    return refuse("no test matches #{(@chosen + @filters).join(" ")}") if suites.empty?
    return list(suites) if @options[:list]

    # A shell starts what it runs in the background with these ignored, which every process of the
    # tests would inherit (sh(1), Signals).
    %w[INT QUIT].each { |signal| trap(signal, "DEFAULT") }
    tallies = if @options[:jobs] > 1
                together(suites)
              else
                suites.map { |suite| announce(suite, @out) }
              end
    finish(tallies.sum(Tally.new))
  end

  private

  def parse(arguments)
    while (argument = arguments.shift)
      case argument
      when "--verbose", "-v" then @options[:verbose] = true
      when "--list" then @options[:list] = true
      when "--again" then @options[:again] = true
      when "--times" then @options[:times] = true
      when "--seed" then @options[:seed] = arguments.shift
      when "--jobs" then jobs(arguments.shift)
      when "--over" then over(arguments.shift)
      when /\A--(.+)\z/ then choose(Regexp.last_match(1))
      else @filters << argument.delete_prefix("./").delete_prefix("#{@root}/")
      end
    end
  end

  def choose(suite)
    return @chosen << suite if SUITES.include?(suite)

    known = SUITES.map { |name| "--#{name}" }.join(" ")
    @error = "unknown option --#{suite}; suites are #{known}, others are in --help"
  end

  def jobs(number)
    return @options[:jobs] = Integer(number, 10) if number&.match?(/\A[1-9]\z/)

    @error = "--jobs takes how many suites run at a time, 1 to 9, not #{number.inspect}"
  end

  def over(mode)
    return @options[:over] = mode if OVER.include?(mode)

    @error = "--over takes #{OVER.join(", ")}, not #{mode.inspect}"
  end

  def suites
    return with_servers if @options[:over]

    wanted = @chosen.empty? ? SUITES - ON_REQUEST : @chosen
    if @chosen.empty?
      wanted |= ON_REQUEST.select do |suite|
        @filters.any? { |filter| filter.start_with?("test/#{suite}") }
      end
    end
    all_of(wanted)
  end

  # Those alone that speak with servers.
  def with_servers
    all_of(@chosen.empty? ? WITH_SERVERS : @chosen & WITH_SERVERS)
  end

  def all_of(names)
    names.flat_map do |name|
      if name == "c"
        CSuite::SANITIZERS.map { |san| CSuite.new(@root, @filters, @options, sanitizer: san) }
      else
        RubySuite.new(@root, name, @filters, @options)
      end
    end
  end

  def list(suites)
    suites.flat_map(&:files).uniq.each { |file| @out.puts(file) }
    0
  end

  def announce(suite, out)
    out.puts("", "== #{suite.name}: #{suite.files.size} files")
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    tally = suite.run(out)
    seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
    out.puts(format("== %<name>s: %<tally>s in %<seconds>.1f s",
                    name: suite.name, tally: tally, seconds: seconds))
    tally
  end

  def in_parts(suites)
    suites.flat_map { |suite| PARTS.key?(suite.name) ? suite.parts(PARTS[suite.name]) : [suite] }
  end

  # The longest first; each suite's output in one piece, when it ends.
  def together(suites)
    waiting = in_parts(suites).sort_by.with_index do |suite, place|
      [LONGEST_FIRST.index { |name| suite.name.start_with?(name) } || LONGEST_FIRST.size, place]
    end
    lock = Mutex.new
    lanes = Array.new(@options[:jobs]) do
      Thread.new do
        tallies = []
        while (suite = lock.synchronize { waiting.shift })
          output = StringIO.new
          tallies << announce(suite, output)
          lock.synchronize { @out.print(output.string) }
        end
        tallies
      end
    end
    lanes.flat_map(&:value)
  end

  def times(total)
    @out.puts("", "What took longest:")
    total.seconds.max_by(SLOWEST) { |_, seconds| seconds }.each do |file, seconds|
      @out.puts(format("%<s>7.1f s  %<file>s", s: seconds, file: file))
    end
  end

  def finish(total)
    times(total) if @options[:times]
    @out.puts
    total.failures.each { |name| @out.puts("FAILED  #{name}") }
    total.unstable.each do |name|
      @out.puts("UNSTABLE #{name}: failed, and passed when it ran again alone: why stands above, " \
                "and is to be mended")
    end
    total.skips.each { |name, reason| @out.puts("SKIPPED #{name}: #{reason}") }
    @out.puts(total.to_s)
    total.failed.zero? ? 0 : 1
  end

  def refuse(message)
    warn("bin/test: #{message}")
    @out.puts(Tally.new(failed: 1).to_s)
    1
  end
end
