# frozen_string_literal: true

module NeverBlock
  module Bench
    # What a figure has to be. status is :met, :missed or :unknown (not measured); measured and limit are texts.
    Verdict = Struct.new(:text, :status, :measured, :limit, keyword_init: true) do
      # @param text [String] the claim in words
      # @param summary [Summary, nil]
      # @param limit [String] for the reader
      # @param format [Proc] makes text of a Summary
      # @yield [Numeric] the median; true when the claim holds
      def self.judge(text, summary, limit:, format: Cell.method(:ratio))
        return new(text: text, status: :unknown, measured: "not measured", limit: limit) unless summary

        new(text: text, status: yield(summary.median) ? :met : :missed, measured: format.call(summary), limit: limit)
      end

      # No answer may be missing or refused.
      # @param results [Results]
      # @param servers [String, Array<String>]
      # @param scenarios [Array<String>] by name
      # @param named [Boolean] whether its text names them, among others of its kind
      # @return [Verdict]
      def self.no_errors(results, servers, scenarios, named: false)
        counts = Array(servers).product(scenarios).filter_map { |server, scenario| results.errors(server, scenario) }
        total = Summary.of([counts.sum]) unless counts.empty?
        text = [(Array(servers).join(", ") if named), "errors in all rounds"].compact.join(": ")
        judge(text, total, limit: "none", format: Cell.method(:spread), &:zero?)
      end
    end

    # One file under benchmark/ is one claim: a subclass that names its application, servers and scenarios, and says how the figures are
    # shown and judged. A subclass lives in NeverBlock::Bench::Claims under its own name.
    class Claim
      # @return [String] the name on the command line
      def name
        self.class.name.split("::").last.downcase
      end

      # @return [String] one line for `--list`
      def title
        raise NotImplementedError
      end

      # @return [Array<String>] names from Servers
      def servers
        raise NotImplementedError
      end

      # @return [Array<Server>] what is measured, in the order of the tables
      def candidates
        Servers.named(servers)
      end

      # @return [#run] starts a candidate fresh and yields it
      def host
        ServerProcess
      end

      # @return [#take] measures what the host yields
      def measurement
        Measurement.new
      end

      # @return [String, nil] what makes the load; nil: it is not installed
      def load_generator
        version = Wrk.version
        version && "wrk #{version}"
      end

      # @return [Array<Scenario>]
      def scenarios
        raise NotImplementedError
      end

      # @param _server [Server]
      # @param _scenario [Scenario]
      # @return [Boolean] whether the server can bear that load at all
      def measures?(_server, _scenario)
        true
      end

      # @param figures [Hash{String => Object}] of a run
      # @return [String] the one that its line of progress tells: of an open loop how long most waited, else the rate
      def headline(figures)
        return "#{Cell.number(figures["rate"])}/s" unless figures["late_p99_us"]

        "p99 #{Cell.number(figures["p99_us"] && (figures["p99_us"] / 1000.0), digits: 1)} ms"
      end

      # @param quick [Boolean]
      # @param rounds [Integer, nil] nil: what the claim thinks right; so is seconds
      # @param seconds [Numeric, nil]
      # @return [Settings]
      def settings(quick:, rounds:, seconds:)
        Settings.for(quick: quick, rounds: rounds, seconds: seconds)
      end

      # @return [Boolean] whether its runs are so long that an interrupted one is worth going on with (Journal)
      def resumable?
        false
      end

      # @return [Numeric] starting and stopping a server, beside warm-up and load; only for the estimate that is printed
      def overhead_seconds
        1.5
      end

      # @return [String] what a fresh server is asked until it answers
      def probe_path
        "/"
      end

      # @return [String] rackup file
      def app
        File.join(ROOT, "benchmark/apps/#{name}.ru")
      end

      # @param results [Results]
      # @return [Array<Table>]
      def tables(results)
        raise NotImplementedError
      end

      # @param results [Results]
      # @return [Array<Verdict>]
      def verdicts(_results)
        []
      end
    end

    # A claim about programs that measure themselves: a client, or a loop of one operation. A subclass names its candidates (Program), and
    # overrides #host where they ask a server.
    class ProgramClaim < Claim
      def host
        ProgramHost.new
      end

      def measurement
        ProgramMeasurement.new
      end

      def load_generator
        "each program measures itself"
      end

      # The bundle of the programs that need no peer's gems.
      # @return [Bundle]
      def ruby_bundle
        @ruby_bundle ||= Bundle.new("ruby")
      end
    end

    # Where the files of benchmark/ put their claims.
    module Claims
    end
  end
end
