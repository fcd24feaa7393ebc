# frozen_string_literal: true

require "json"
require "tempfile"

module NeverBlock
  module Bench
    # The load generator: runs wrk with a script that prints its summary as one line of JSON.
    class Wrk
      # The counts of one run. Latencies are in microseconds. Kinds of errors: connect, read, write,
      # timeout, status (400 and above).
      Outcome = Struct.new(:requests, :seconds, :bytes, :errors, :latency_us, :cpu_seconds,
                           keyword_init: true) do
        # @return [Float] successful responses a second; fast refusals do not count
        def rate
          (requests - errors.fetch("status", 0)) / seconds
        end

        # @return [Integer]
        def error_count
          errors.values.sum
        end
      end

      MARK = "bench-json "

      # setup() and done() run outside the measured time. `response` is undefined, so that wrk does
      # not parse responses for Lua.
      DONE = <<~LUA
        function done(summary, latency, requests)
          local e = summary.errors
          io.write(string.format(
            '#{MARK}{"requests":%d,"duration_us":%d,"bytes":%d,' ..
            '"errors":{"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d},' ..
            '"latency_us":{"min":%d,"mean":%.1f,"max":%d,' ..
            '"p50":%d,"p90":%d,"p99":%d,"p99.9":%d}}\\n',
            summary.requests, summary.duration, summary.bytes,
            e.connect, e.read, e.write, e.timeout, e.status,
            latency.min, latency.mean, latency.max,
            latency:percentile(50), latency:percentile(90), latency:percentile(99),
            latency:percentile(99.9)))
        end
      LUA

      # wrk counts expected responses by parsing the result of request(), so a batch may be one
      # string (wrk's own pipeline example).
      PIPELINE = <<~LUA
        function init(args)
          local batch = {}
          for i = 1, %<depth>d do batch[i] = wrk.format() end
          joined = table.concat(batch)
        end
        function request() return joined end
      LUA

      # Longer than any run, so that a slow response counts as slow and not as an error.
      TIMEOUT_SECONDS = 600
      MISSING = "wrk is not installed: bin/setup --all installs it (package wrk)"
      # Seconds wrk may run over its time: it waits for its threads, not for open requests.
      GRACE_SECONDS = 20

      class << self
        # @param pipeline [Integer] requests sent at once on each connection
        # @return [String] the Lua script
        def script(pipeline: 1)
          pipeline > 1 ? format(PIPELINE, depth: pipeline) + DONE : DONE
        end

        # @param text [String] all of wrk's output
        # @param cpu_seconds [Float, nil] CPU time of wrk itself
        # @param pipeline [Integer] above 1 there are no latencies: wrk 4.1 records one for each
        #   batch but divides by the number of responses, so that its percentiles are wrong
        # @return [Outcome]
        # @raise [Error] when the output has no summary
        def parse(text, cpu_seconds: nil, pipeline: 1)
          line = text.lines.find { |candidate| candidate.start_with?(MARK) }
          unless line
            raise Error, "wrk gave no summary; its output: #{text.strip.lines.last(3).join.strip}"
          end

          data = JSON.parse(line.delete_prefix(MARK))
          Outcome.new(requests: data.fetch("requests"), seconds: data.fetch("duration_us") / 1e6,
                      bytes: data.fetch("bytes"), errors: data.fetch("errors"),
                      latency_us: pipeline > 1 ? {} : data.fetch("latency_us"),
                      cpu_seconds: cpu_seconds)
        end

        # @return [String, nil] wrk's version; nil when it is not installed
        def version
          IO.popen(["wrk", "-v"], err: %i[child out], &:read)[/\A\s*wrk (\S+)/, 1]
        rescue Errno::ENOENT
          nil
        end
      end

      # @param load [Load] connections, threads, pipeline, path
      # @param url [String] of the server, without path
      # @param seconds [Numeric] time of sending
      # @return [Outcome]
      # @raise [Error] when wrk fails or does not end
      def run(load, url:, seconds:)
        Tempfile.create(["neverblock-bench", ".lua"]) do |script|
          script.write(self.class.script(pipeline: load.pipeline))
          script.close
          before = Child.cpu_seconds
          text = Child.capture(command(load, url, seconds, script.path),
                               limit_seconds: seconds + GRACE_SECONDS)
          self.class.parse(text, cpu_seconds: Child.cpu_seconds - before, pipeline: load.pipeline)
        end
      rescue Errno::ENOENT
        raise Error, MISSING
      end

      # @return [Array<String>] the command line
      def command(load, url, seconds, script)
        ["wrk", "-t#{load.threads}", "-c#{load.connections}", "-d#{seconds.ceil}s",
         "--timeout", "#{TIMEOUT_SECONDS}s", "-s", script, "#{url}#{load.path}"]
      end
    end
  end
end
