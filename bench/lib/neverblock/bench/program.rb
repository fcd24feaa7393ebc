# frozen_string_literal: true

require "json"

module NeverBlock
  module Bench
    # A Ruby program that measures itself: a file of benchmark/apps, run by this Ruby with YJIT in a
    # bundle of its own. Its one argument is its job as JSON, and it prints one line of JSON (see
    # benchmark/apps/measured.rb). It is a candidate of a claim, like a Server.
    class Program
      MARK = "bench-json "
      # Seconds to start Ruby, make a thousand fibers or threads, and end.
      GRACE_SECONDS = 120
      LIB = File.join(ROOT, "lib")

      # @return [String] as in the tables ("neverblock fibers")
      attr_reader :name
      # @return [String] the first word of the name, accepted by `--peers`
      attr_reader :family
      # @return [String] its settings in words
      attr_reader :settings
      # @return [String, nil] the version that the program reports, once prepared
      attr_reader :version

      # @param name [String]
      # @param settings [String]
      # @param file [String] path below the root
      # @param way [String] which of the file's measurements
      # @param environment [Hash{String => String}, #call] added to the bundle's own; a callable is
      #   called when the program is run
      # @param pinned [Boolean] whether it leaves the last core to its server
      # @param bundle [Bundle]
      def initialize(name, settings:, file:, way:, bundle:, environment: {}, pinned: false)
        @name = name
        @family = name.split.first
        @settings = settings
        @file = file
        @way = way
        @bundle = bundle
        @environment = environment
        @pinned = pinned
      end

      def ruby?
        true
      end

      # @yield [String] a slow step, for the progress lines
      # @raise [Error] with the reason why it is skipped
      def prepare(&progress)
        @bundle.install(&progress)
        @version = run({ "check" => true }).fetch("version")
      end

      # @return [Array<String>] without the job
      def command
        [*(Cores.program_prefix if @pinned), *RUBY, "-I", LIB, File.join(ROOT, @file)]
      end

      # Runs the program to its end.
      # @param job [Hash] what to do; `seconds` and `warmup_seconds` tell how long it takes
      # @param grace_seconds [Numeric] seconds it may take longer
      # @return [Hash{String => Object}] its results
      # @raise [Error] with its last output, when it has no results
      def run(job, grace_seconds: GRACE_SECONDS)
        limit = job.fetch("seconds", 0) + job.fetch("warmup_seconds", 0) + grace_seconds
        command_line = [*command, JSON.generate(job.merge("way" => @way))]
        text = Child.capture(command_line, limit_seconds: limit, environment: environment,
                                           unsetenv_others: true, rlimit_nofile: files)
        self.class.parse(text, limit)
      end

      # @param text [String] all of the program's output
      # @return [Hash{String => Object}]
      def self.parse(text, limit_seconds)
        line = text.lines.find { |candidate| candidate.start_with?(MARK) }
        return JSON.parse(line.delete_prefix(MARK)) if line

        words = text.scrub.strip.lines.first(2).map(&:strip).join(" | ")[0, 300]
        raise Error, words.empty? ? "it did not end in #{limit_seconds} s" : words
      end

      private

      def environment
        Environment.clean.merge(@bundle.environment, Environment.told(@environment))
      end

      def files
        Process.getrlimit(Process::RLIMIT_NOFILE).last
      end
    end
  end
end
