# frozen_string_literal: true

# Tells the program that runs several suites (bin/test) how this one ended: a JSON file with the
# counts, each skip with its reason and what each file took, named by NB_TEST_RESULT. Until then the
# file names the test that is running and has what was found so far, for a process that dies in it.

require "json"
require "minitest"

module Minitest
  def self.plugin_suite_reporter_init(_options)
    path = ENV.fetch("NB_TEST_RESULT", nil)
    reporter << SuiteReporter.new(path) if path
  end

  # Collects results in memory and writes them at the end.
  class SuiteReporter < AbstractReporter
    def initialize(path)
      super()
      @path = path
      @counts = { "passed" => 0, "failed" => 0, "skipped" => 0 }
      @skips = []
      @failures = []
      @texts = []
      @seconds = Hash.new(0.0)
    end

    def prerecord(klass, name)
      so_far = { "counts" => @counts, "skips" => @skips, "failures" => @failures,
                   "texts" => @texts }
      File.write(@path, JSON.generate("running" => utf8("#{klass}##{name}"), "so_far" => so_far))
    end

    def record(result)
      @seconds[result.source_location.first] += result.time
      if result.skipped?
        @counts["skipped"] += 1
        @skips << [name_of(result), utf8(result.failure.message)]
      elsif result.passed?
        @counts["passed"] += 1
      else
        @counts["failed"] += 1
        @failures << name_of(result)
        @texts << utf8(result.to_s)
      end
    end

    def report
      result = @counts.merge("skips" => @skips, "failures" => @failures, "seconds" => @seconds)
      File.write(@path, JSON.generate(result))
    end

    private

    def name_of(result)
      utf8("#{result.klass}##{result.name}")
    end

    # A message may hold bytes that a test received; the generator of JSON raises for them.
    def utf8(text)
      text.dup.force_encoding(Encoding::UTF_8).scrub
    end
  end
end
