# frozen_string_literal: true

class TestRun
  # All Minitest files of one folder of test/, in one process, reported through NB_TEST_RESULT (suite_reporter.rb).
  class RubySuite
    LOADER = 'require File.expand_path(ARGV.shift) until ARGV.first == "--"; ARGV.shift'

    attr_reader :name, :files

    def initialize(root, name, filters, options)
      @root = root
      @name = name
      @options = options
      @files = Dir.glob("test/#{name}/**/*_test.rb", base: root).sort
                  .select { |file| filters.empty? || filters.any? { |filter| file.include?(filter) } }
    end

    def empty?
      files.empty?
    end

    # @return [Tally]
    def run(_out)
      Tempfile.create("nb-result") do |result|
        outcome = Child.run(command, env: { "NB_TEST_RESULT" => result.path }, chdir: @root)
        judge(outcome, File.read(result.path))
      end
    end

    # @param outcome [Symbol] how the process ended
    # @param text [String] what the reporter wrote, empty when it never came to that
    def judge(outcome, text)
      return Tally.new.with_failure("#{name}: #{outcome == :late ? "still running after #{Child::LIMIT_S} s" : "the test process died"}") if text.empty?

      report = JSON.parse(text)
      tally = Tally.new(passed: report["passed"], failed: report["failed"], skips: report["skips"], failures: report["failures"])
      return tally if outcome == :ok || tally.failed.positive?

      tally.with_failure("#{name}: every test passed but the process ended badly (#{outcome})")
    end

    private

    def command
      options = []
      options += ["--seed", @options[:seed]] if @options[:seed]
      options << "--verbose" if @options[:verbose]
      [RbConfig.ruby, "-Itest", "-Ilib", "-rtest_helper", "-e", LOADER, *files, "--", *options]
    end
  end
end

require "rbconfig"
