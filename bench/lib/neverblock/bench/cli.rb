# frozen_string_literal: true

require "optparse"
require_relative "../bench"

module NeverBlock
  module Bench
    # `neverblock bench [NAME | all]`.
    class CLI
      # The options of the command line.
      Options = Struct.new(:name, :action, :report, :quick, :peers, :rounds, :seconds,
                           :compare, keyword_init: true)

      RESULTS = File.join(ROOT, "benchmark/results")

      # @param argv [Array<String>] the words after `neverblock bench`
      # @param out [IO] receives the tables
      # @param err [IO] receives progress and errors
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
        raise Error, Wrk::MISSING unless claims.all?(&:load_generator)

        session(claims, options).run
      rescue Error, OptionParser::ParseError => e
        @err.puts("neverblock bench: #{e.message}")
        1
      end

      private

      def parse(argv)
        options = Options.new(quick: false)
        names = parser(options).parse(argv)
        raise Error, "give at most one name, or all; got #{names.join(" ")}" if names.size > 1

        options.name = names.first
        options.action ||= :list unless options.name
        options
      end

      def parser(options)
        OptionParser.new do |parser|
          parser.banner = banner
          parser.on("--list", "list the benchmarks") { options.action = :list }
          add_selection(parser, options)
          add_length(parser, options)
          parser.on("--report DIR",
                    "folder of NAME.json, NAME.md and the page (report.html, of one benchmark",
                    "NAME.html); default benchmark/results, without a page") do |directory|
            options.report = directory
          end
          parser.on("--compare OLD", "an older NAME.json, report.json or their folder:",
                    "what is better, worse, or within the noise") do |path|
            options.compare = path
          end
          parser.on("-h", "--help", "show this help") { options.action = :help }
        end
      end

      def banner
        "Usage: neverblock bench [NAME | all] [options]\n" \
          "Reproduces the tables of NeverBlock's claims on this machine, beside other servers.\n" \
          "Names: #{@catalog.names.join(", ")}"
      end

      def add_selection(parser, options)
        parser.on("--quick", "2 rounds of 2 s (downloads: 1 of 30 s): a look, no measurement;",
                  "all: 1 round with fewer loads, under 25 minutes") do
          options.quick = true
        end
        parser.on("--peers A,B", Array,
                  "only these beside neverblock (nginx, puma, \"puma-5\", ...)") do |names|
          options.peers = names
        end
      end

      def add_length(parser, options)
        parser.on("--rounds N", Integer, "default 5, quick 2; downloads 1") do |count|
          options.rounds = positive("--rounds", count, 100)
        end
        parser.on("--seconds N", Integer,
                  "of load in each run; default 8, quick 2; downloads 180, quick 30") do |count|
          options.seconds = positive("--seconds", count, 600)
        end
      end

      def positive(option, count, max)
        unless count.between?(1, max)
          raise Error, "#{option} must be a number from 1 to #{max}; got #{count}"
        end

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

      def session(claims, options)
        old = Comparison.read(options.compare) if options.compare
        plans = plans(claims, options)
        directory = options.report || RESULTS
        Collection.check_writable(directory)
        collection = Collection.new(claims.map(&:name), quick: options.quick, old: old,
                                                        directory: options.report)
        Session.new(plans, directory: directory, collection: collection,
                           asked: !options.report.nil?, out: @out, err: @err, runner: @runner)
      end

      def plans(claims, options)
        short = options.quick && claims.size > 1
        plans = claims.map do |claim|
          Plan.new(claim, settings: settings(claim, options, short),
                          servers: chosen(claim, options.peers))
        end
        short ? QuickPlan.fit(plans) : plans
      end

      def settings(claim, options, short)
        length = { rounds: options.rounds, seconds: options.seconds }
        return QuickPlan.settings(claim, **length) if short

        claim.settings(quick: options.quick, **length)
      end

      # A peer is named by its family ("puma") or in full ("puma-5").
      def chosen(claim, peers)
        return claim.candidates unless peers

        wanted = peers.map { |peer| spoken(peer.strip.downcase) }
        check_peers(wanted)
        claim.candidates.select do |candidate|
          candidate.family == "neverblock" || called?(candidate, wanted)
        end
      end

      def check_peers(wanted)
        known = @catalog.names.flat_map { |name| @catalog.find(name).candidates }
        unknown = wanted.reject { |name| known.any? { |candidate| called?(candidate, [name]) } }
        return if unknown.empty?

        raise Error, "no peer is called #{unknown.join(", ")}; " \
                     "known are #{known.map(&:family).uniq.join(", ")}"
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
