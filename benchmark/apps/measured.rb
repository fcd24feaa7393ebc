# frozen_string_literal: true

# Shared by the programs that measure themselves. It reads their job (one argument, JSON), puts
# clocks around the work, and prints the figures. bench/lib/neverblock/bench/program.rb reads that
# line.

require "json"

module Measured
  class << self
    # @yield [String] the way
    # @yieldreturn [#version, #run] `run(job)` returns the figures
    def run
      job = JSON.parse(ARGV.fetch(0), symbolize_names: true)
      subject = yield job[:way]
      found = job[:check] ? { version: subject.version } : subject.run(job)
      $stdout.puts("bench-json #{JSON.generate(found)}")
    end

    # @yield the work
    # @return [Hash{Symbol => Object}] what every figure needs but count and errors
    def around
      GC.start
      idle = memory("VmRSS")
      before = clocks
      yield
      seconds, cpu = clocks.zip(before).map { |now, start| now - start }
      { seconds: seconds, cpu_seconds: cpu.round(6), rss_idle_bytes: idle,
        rss_peak_bytes: memory("VmHWM"),
        yjit: defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false }
    end

    # @return [Float] seconds
    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    private

    def clocks
      [now, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)]
    end

    # proc(5), status
    def memory(field)
      File.read("/proc/self/status")[/^#{field}:\s+(\d+) kB/, 1].to_i * 1024
    end
  end
end
