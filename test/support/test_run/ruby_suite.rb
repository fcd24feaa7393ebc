# frozen_string_literal: true

class TestRun
  # All Minitest files of one folder of test/, in one process, reported through NB_TEST_RESULT
  # (suite_reporter.rb).
  class RubySuite
    AGAIN_MOST = 3
    LOADER = 'require File.expand_path(ARGV.shift) until ARGV.first == "--"; ARGV.shift'

    attr_reader :name, :files

    def initialize(root, name, filters, options)
      @root = root
      @folder = @name = name
      @options = options
      @files = Dir.glob("test/#{name}/**/*_test.rb", base: root).sort
                  .select do |file|
                    filters.empty? || filters.any? { |filter| file.include?(filter) }
                  end
    end

    def empty?
      files.empty?
    end

    # @param count [Integer] the most
    # @return [Array<RubySuite>] this one in pieces that may run beside each other: neighbours stay
    #   together, which often share a service
    def parts(count)
      size = (files.size / count.to_f).ceil
      return [self] if size.zero? || size == files.size

      files.each_slice(size).with_index(1).map do |some, number|
        dup.part("#{name} #{number} of #{count}", some)
      end
    end

    # @return [Tally]
    def run(out)
      @out = out
      tally = attempt
      @options[:again] && single_tests?(tally) ? again(tally) : tally
    end

    protected

    def part(name, files)
      @name = name
      @files = files
      self
    end

    private

    # Few enough to be by chance, and each known by its name.
    def single_tests?(tally)
      tally.failed.between?(1, AGAIN_MOST) && tally.failures.size == tally.failed &&
        tally.failures.all?(/\A\S+#test_.+\z/)
    end

    # What failed once more, alone.
    def again(tally)
      tally.after(attempt("--name", "/\\A(?:#{Regexp.union(tally.failures).source})\\z/"))
    end

    def attempt(*arguments)
      Tempfile.create("nb-result") do |result|
        last_words = LastWords.new
        env = { "NB_TEST_RESULT" => result.path, **patience, **over }
        child = Child.new(command + arguments,
                          env: env, chdir: @root, streams: alone? ? [:err] : %i[out err])
        outcome = child.run { |line| (alone? ? $stderr : @out).print(last_words << line) }
        judge(report(File.read(result.path)), outcome, child.status, last_words)
      end
    end

    # Nothing else runs beside it: its output can be seen as it comes.
    def alone?
      @options.fetch(:jobs, 1) == 1
    end

    # One test of the slow suite may take what the whole suite may.
    def patience
      return {} if @folder != "slow" || ENV.key?("NB_TEST_SECONDS")

      { "NB_TEST_SECONDS" => Child::LIMIT_S.to_s }
    end

    def report(text)
      text.empty? ? {} : JSON.parse(text)
    end

    # @param report [Hash] what the reporter wrote: the counts, or the test that was running when
    #   the process died
    def judge(report, outcome, status, last_words)
      unless report.key?("passed")
        died = [death(report, outcome, status), *last_words.lines].join("\n")
        return so_far(report.fetch("so_far", {})).with_failure(died)
      end

      seconds = report["seconds"].transform_keys { |file| file.delete_prefix("#{@root}/") }
      tally = Tally.new(passed: report["passed"], failed: report["failed"],
                        skips: report["skips"], failures: report["failures"], seconds: seconds)
      return tally if outcome == :ok || tally.failed.positive?

      how = "every test passed but the process ended badly (#{status_of(status)})"
      tally.with_failure("#{name}: #{how}")
    end

    # What a process that died had found. Minitest tells failures at the end alone.
    def so_far(found)
      return Tally.new if found.empty?

      found["texts"].each { |text| @out.puts(text) }
      counts = found["counts"]
      Tally.new(passed: counts["passed"], failed: counts["failed"],
                skips: found["skips"], failures: found["failures"])
    end

    def death(report, outcome, status)
      how = if outcome == :late
              "its time was over"
            else
              "the test process died (#{status_of(status)})"
            end
      "#{name}: #{how} in #{report.fetch("running", "no test")}"
    end

    def status_of(status)
      status.signaled? ? "SIG#{Signal.signame(status.termsig)}" : "exit #{status.exitstatus}"
    end

    def over
      @options[:over] ? { "NB_TEST_OVER" => @options[:over] } : {}
    end

    def command
      options = []
      options += ["--seed", @options[:seed]] if @options[:seed]
      options << "--verbose" if @options[:verbose]
      [RbConfig.ruby, "-Itest", "-Ilib", "-rtest_helper", "-e", LOADER, *files, "--", *options]
    end
  end
end

require "rbconfig"
