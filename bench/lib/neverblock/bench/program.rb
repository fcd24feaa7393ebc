# frozen_string_literal: true

require "json"

module NeverBlock
  module Bench
    # A Ruby program that measures itself: a file of benchmark/apps, run by this Ruby with YJIT in a bundle of its own. It takes one argument, its
    # job as JSON, and prints one line of JSON (benchmark/apps/measured.rb is the other end). A candidate of a claim, as a Server is.
    class Program
      MARK = "bench-json "
      # To start Ruby, make a thousand fibers or threads, and end; beside what the job itself takes.
      GRACE_SECONDS = 120
      LIB = File.join(ROOT, "lib")

      # @return [String] as in the tables ("neverblock fibers")
      attr_reader :name
      # @return [String] the first word of the name: what `--peers` may say
      attr_reader :family
      # @return [String] how it is set, in words
      attr_reader :settings
      # @return [String, nil] as the program itself says once prepared
      attr_reader :version

      # @param name [String]
      # @param settings [String]
      # @param file [String] below the root
      # @param way [String] which of the things the file can measure
      # @param environment [Hash{String => String}, #call] beside the bundle's own; what can be called is asked when the program is run
      # @param pinned [Boolean] leaves the last core to the server it asks
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

      # @yield [String] what takes long
      # @raise [Error] with the reason why it is left out
      def prepare(&progress)
        @bundle.install(&progress)
        @version = run({ "check" => true }).fetch("version")
      end

      # @return [Array<String>] without the job
      def command
        [*(Cores.program_prefix if @pinned), *RUBY, "-I", LIB, File.join(ROOT, @file)]
      end

      # Runs the program to its end.
      # @param job [Hash] what to do; `seconds` and `warmup_seconds` say how long that may take
      # @param grace_seconds [Numeric] how much longer it may take
      # @return [Hash{String => Object}] what it found
      # @raise [Error] with its last words, when it found nothing
      def run(job, grace_seconds: GRACE_SECONDS)
        limit = job.fetch("seconds", 0) + job.fetch("warmup_seconds", 0) + grace_seconds
        text = Child.capture([*command, JSON.generate(job.merge("way" => @way))], limit_seconds: limit, environment: environment,
                                                                                  unsetenv_others: true, rlimit_nofile: files)
        self.class.parse(text, limit)
      end

      # @param text [String] all that the program printed
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
