# frozen_string_literal: true

# Tells the program that runs several suites (bin/test) how this one ended: a JSON file with the counts and each skip with its reason, named by
# NB_TEST_RESULT. A process that died before writing it is a failure to whoever reads.

require "json"
require "minitest"

module Minitest
  def self.plugin_suite_reporter_init(_options)
    path = ENV.fetch("NB_TEST_RESULT", nil)
    reporter << SuiteReporter.new(path) if path
  end

  # Collects results in memory and writes them once, at the end.
  class SuiteReporter < AbstractReporter
    def initialize(path)
      super()
      @path = path
      @counts = { "passed" => 0, "failed" => 0, "skipped" => 0 }
      @skips = []
      @failures = []
    end

    def record(result)
      if result.skipped?
        @counts["skipped"] += 1
        @skips << [name_of(result), result.failure.message]
      elsif result.passed?
        @counts["passed"] += 1
      else
        @counts["failed"] += 1
        @failures << name_of(result)
      end
    end

    def report
      File.write(@path, JSON.generate(@counts.merge("skips" => @skips, "failures" => @failures)))
    end

    private

    def name_of(result)
      "#{result.klass}##{result.name}"
    end
  end
end
