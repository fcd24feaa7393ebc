# frozen_string_literal: true

require "optparse"
require_relative "../bench"

module NeverBlock
  module Bench
    # `neverblock bench [NAME | all]`.
    class CLI
      # What the command line asked for.
      Options = Struct.new(:name, :action, :report, :quick, :peers, :rounds, :seconds, keyword_init: true)

      RESULTS = File.join(ROOT, "benchmark/results")

      # @param argv [Array<String>] what follows `neverblock bench`
      # @param out [IO] tables
      # @param err [IO] progress and errors
      # @return [Integer] exit status: 0 when everything was measured, 1 otherwise
      def self.run(argv, out: $stdout, err: $stderr)
        new(out: out, err: err).run(argv)
      end

      def initialize(out:, err:, catalog: Catalog.new, runner: Runner)
        @out = out
        @err = err
        @catalog = catalog
        @runner = runner
      end

      # @param argv [Array<String>]
      # @return [Integer] exit status
      def run(argv)
        options = parse(argv)
        return show(parser(options).help) if options.action == :help
        return show(list) if options.action == :list

        claims = find(options.name)
        @resumable = claims.any?(&:resumable?)
        raise Error, Wrk::MISSING unless claims.all?(&:load_generator)

        claims.map { |claim| measure(claim, options) }.max
      rescue Error, OptionParser::ParseError => e
        @err.puts("neverblock bench: #{e.message}")
        1
      rescue Interrupt
        @err.puts("neverblock bench: interrupted; every server was stopped, no report was written#{"; the same command goes on" if @resumable}")
        1
      end

      private

      def parse(argv)
        options = Options.new(quick: false)
        names = parser(options).parse(argv)
        raise Error, "one name at most, or all; seen: #{names.join(" ")}" if names.size > 1

        options.name = names.first
        options.action ||= :list unless options.name
        options
      end

      def parser(options)
        OptionParser.new do |parser|
          parser.banner = "Usage: neverblock bench [NAME | all] [options]\nReproduces the tables of NeverBlock's claims on this machine, " \
                          "beside other servers.\nNames: #{@catalog.names.join(", ")}"
          parser.on("--list", "what can be measured") { options.action = :list }
          parser.on("--quick", "2 rounds of 2 s (downloads: 1 of 30 s): a look, not a measurement") { options.quick = true }
          parser.on("--peers A,B", Array, "only these beside neverblock (nginx, puma, \"puma-5\", ...)") { |names| options.peers = names }
          parser.on("--rounds N", Integer, "default 5, quick 2; downloads 1") { |count| options.rounds = positive("--rounds", count, 100) }
          parser.on("--seconds N", Integer, "of load in each run; default 8, quick 2; downloads 180, quick 30") { |count| options.seconds = positive("--seconds", count, 600) }
          parser.on("--report DIR", "where NAME.json and NAME.md go; default benchmark/results") { |directory| options.report = directory }
          parser.on("-h", "--help") { options.action = :help }
        end
      end

      def positive(option, count, max)
        raise Error, "#{option} #{count}: a number from 1 to #{max} is wanted" unless count.between?(1, max)

        count
      end

      def find(name)
        (name == "all" ? @catalog.names : [name]).map { |one| @catalog.find(one) }
      end

      def list
        lines = @catalog.names.map { |name| format("%-8s %s", name, @catalog.find(name).title) }
        "#{lines.join("\n")}\n"
      end

      def show(text)
        @out.puts(text)
        0
      end

      def measure(claim, options)
        settings = claim.settings(quick: options.quick, rounds: options.rounds, seconds: options.seconds)
        directory = options.report || RESULTS
        journal = Journal.of(claim, settings, directory)
        report = @runner.new(claim, settings: settings, progress: Progress.new(@err), servers: chosen(claim, options.peers), journal: journal).run
        paths = report.write(directory)
        journal.remove unless report.failed?
        @out.puts(report.to_text)
        @err.puts("written: #{paths.join(", ")}")
        report.failed? ? 1 : 0
      end

      # A peer is named by family ("puma") or in full ("puma-5").
      def chosen(claim, peers)
        return claim.candidates unless peers

        wanted = peers.map { |peer| spoken(peer.strip.downcase) }
        known = @catalog.names.flat_map { |name| @catalog.find(name).candidates }
        unknown = wanted.reject { |name| known.any? { |candidate| called?(candidate, [name]) } }
        raise Error, "no peer is called #{unknown.join(", ")}; there are: #{known.map(&:family).uniq.join(", ")}" if unknown.any?

        claim.candidates.select { |candidate| candidate.family == "neverblock" || called?(candidate, wanted) }
      end

      def called?(candidate, wanted)
        wanted.intersect?([candidate.name, candidate.family].map { |name| spoken(name) })
      end

      def spoken(name)
        name.tr("-", " ")
      end
    end
  end
end
