# frozen_string_literal: true

# What the programs that measure themselves share: their job (one argument, JSON), the clocks around the work, and the line of figures that
# bench/lib/neverblock/bench/program.rb reads.

require "json"

module Measured
  class << self
    # @yield [String] the way; gives what answers `version` and `run(job)`, the latter with the figures
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
      { seconds: seconds, cpu_seconds: cpu.round(6), rss_idle_bytes: idle, rss_peak_bytes: memory("VmHWM"),
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
