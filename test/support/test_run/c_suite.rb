# frozen_string_literal: true

class TestRun
  # The cmocka tests of the core, built and run by test/c/Makefile under one sanitizer. Counts are
  # read from cmocka's own lines.
  class CSuite
    AGAIN_MOST = 3
    SANITIZERS = %w[asan tsan].freeze
    MARK = /\A\[\s*(RUN|OK|FAILED|SKIPPED|ERROR|PASSED|=+)\s*\]\s?(.*)/

    # As Output names the failure of one test, or that its alarm fired (test/c/support/test.c).
    FAILURE = /\Ac \(\w+\) (\S+)(?:: | \(exit 97\)\z)/

    # A progress line for each object; cmocka's second count.
    NOISE = /\A(CC |\s*$|\s*\d+ (SKIPPED|FAILED) TEST\(S\))/

    attr_reader :files

    def initialize(root, filters, options, sanitizer:)
      @root = root
      @sanitizer = sanitizer
      @options = options
      @filtered = filters.any?
      @files = Dir.glob("test/c/**/test_*.c", base: root).sort
                  .select do |file|
                    filters.empty? || filters.any? { |filter| file.include?(filter) }
                  end
    end

    def name
      "c (#{@sanitizer})"
    end

    def empty?
      files.empty?
    end

    # @return [Tally]
    def run(out)
      tally = attempt(targets, out)
      @options[:again] && single_tests?(tally) ? tally.after(attempt(binaries(tally), out)) : tally
    end

    private

    def attempt(targets, out)
      targets.sum(Tally.new) do |target|
        output = Output.new(name, verbose: @options[:verbose], out: out)
        outcome = Child.run(make(target), chdir: @root) { |line| output.line(line) }
        output.tally(outcome)
      end
    end

    # Few enough to be by chance, and each a test that said so itself: what a sanitizer found is
    # never chance.
    def single_tests?(tally)
      tally.failed.between?(1, AGAIN_MOST) && tally.failures.all?(FAILURE)
    end

    def binaries(tally)
      tally.failures.map { |failure| "#{failure[FAILURE, 1]}.c" }.uniq
    end

    # TEST= takes one part of a path.
    def targets
      @filtered ? files.map { |file| file.delete_prefix("test/c/") } : [nil]
    end

    def make(target)
      ["make", "-C", "test/c", "--no-print-directory", "-j2", "check", "SAN=#{@sanitizer}", "V=1",
       *(["TEST=#{target}"] if target)]
    end

    # Reads what make and cmocka print; passes on what a person needs.
    class Output
      def initialize(suite, out:, verbose: false)
        @suite = suite
        @out = out
        @verbose = verbose
        @passed = 0
        @failures = []
        @skips = []
        @summary = false
        @before = nil
        @running = false # between "[ RUN" and the result of a test
        @held = []
        @seconds = {}
        @named = [] # failures cmocka has named since the last binary ended
      end

      # What a test prints is kept back until it is known whether somebody needs to read it.
      def line(line)
        mark = MARK.match(line)
        held = @running
        mark ? marked(mark[1], mark[2].strip) : plain(line)
        return @out.print(line) if @verbose
        return @held << line if held && @running
        return if NOISE.match?(line)

        release(show: mark.nil? || mark[1] != "OK")
        @out.print(line) if !mark || (%w[FAILED SKIPPED].include?(mark[1]) && !@summary)
      end

      def tally(outcome)
        release(show: true)
        @failures.concat(@named.map { |test| "#{@suite} #{test}" })
        tally = Tally.new(passed: @passed, failed: @failures.size, skips: @skips,
                          failures: @failures, seconds: @seconds)
        return tally if outcome == :ok || (outcome == :failed && tally.failed.positive?)

        how = outcome == :late ? "its time was over" : "make failed"
        tally.with_failure("#{@suite}: #{how}")
      end

      private

      # "[=====] N test(s) run." begins a summary that names failed and skipped tests a second time.
      def marked(kind, text)
        case kind
        when "RUN" then begin_test
        when "OK" then passed
        when "FAILED" then failed(text)
        when "SKIPPED" then skipped(text)
        when /=/ then summary(text)
        end
      end

      def release(show:)
        @out.print(*@held) if show
        @held.clear
      end

      def begin_test
        @before = nil
        @running = true
      end

      def passed
        @passed += 1
        @running = false
      end

      def summary(text)
        @summary = text.end_with?("run.")
      end

      def failed(text)
        @running = false
        @named << text unless @summary
      end

      def skipped(text)
        @running = false
        @skips << ["#{@suite} #{text}", @before || "no reason given"] unless @summary
      end

      # A binary that died names no test; the Makefile's own line then counts.
      def plain(line)
        if line =~ /\AFAIL (\S+) \((exit \d+)\)/
          @running = false
          ended_badly(Regexp.last_match(1), Regexp.last_match(2))
        elsif line =~ /\Aok\s+(\S+) .* in (\d+) s$/
          @seconds["#{@suite} #{Regexp.last_match(1)}"] = Regexp.last_match(2).to_f
          @named.clear
        else
          @before = line.strip
        end
      end

      def ended_badly(binary, how)
        if @named.empty?
          @failures << "#{@suite} #{binary} (#{how})"
        else
          @failures.concat(@named.map { |test| "#{@suite} #{binary}: #{test}" })
        end
        @named.clear
      end
    end
  end
end
