# frozen_string_literal: true

module NeverBlock
  module Bench
    # The judgement of a figure. status is :met, :missed or :unknown (not measured); measured and
    # limit are texts.
    Verdict = Struct.new(:text, :status, :measured, :limit, keyword_init: true) do
      # @param text [String] the claim in words
      # @param summary [Summary, nil]
      # @param limit [String] the limit in words
      # @param format [Proc] formats a Summary
      # @yield [Numeric] the median; true when the claim holds
      def self.judge(text, summary, limit:, format: Cell.method(:ratio))
        unless summary
          return new(text: text, status: :unknown, measured: "not measured", limit: limit)
        end

        status = yield(summary.median) ? :met : :missed
        new(text: text, status: status, measured: format.call(summary), limit: limit)
      end

      # Judges that no response is missing or refused.
      # @param results [Results]
      # @param servers [String, Array<String>]
      # @param scenarios [Array<String>] by name
      # @param named [Boolean] whether the text names the servers
      # @return [Verdict]
      def self.no_errors(results, servers, scenarios, named: false)
        counts = Array(servers).product(scenarios).filter_map do |server, scenario|
          results.errors(server, scenario)
        end
        total = Summary.of([counts.sum]) unless counts.empty?
        text = [(Array(servers).join(", ") if named), "errors in all rounds"].compact.join(": ")
        judge(text, total, limit: "none", format: Cell.method(:spread), &:zero?)
      end
    end

    # A figure of 2008-2009 in the unit of the metric. name is what a plot writes beside it.
    Published = Struct.new(:scenario, :metric, :name, :value, keyword_init: true)

    # A claim: one file under benchmark/, with a subclass that names its application, servers and
    # scenarios, and shows and judges the figures. The subclass is NeverBlock::Bench::Claims::NAME.
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

      # @return [Array<Server>] the measured servers, in the order of the tables
      def candidates
        Servers.named(servers)
      end

      # @return [#run] starts a candidate fresh and yields it
      def host
        ServerProcess
      end

      # @return [#take] measures the process that the host yields
      def measurement
        Measurement.new
      end

      # @return [String, nil] name and version of the load generator; nil: it is not installed
      def load_generator
        version = Wrk.version
        version && "wrk #{version}"
      end

      # @return [Array<Scenario>]
      def scenarios
        raise NotImplementedError
      end

      # Loads that only tell something together. A quick look at all claims takes whole groups.
      # @return [Array<Array<Scenario>>]
      def scenario_groups
        scenarios.map { |scenario| [scenario] }
      end

      # @param _server [Server]
      # @param _scenario [Scenario]
      # @return [Boolean] whether the server can handle that load at all
      def measures?(_server, _scenario)
        true
      end

      # @param figures [Hash{String => Object}] of a run
      # @return [String] the figure for its line of progress: p99 of an open loop, else the rate
      def headline(figures)
        return "#{Cell.number(figures["rate"])}/s" unless figures["late_p99_us"]

        millis = figures["p99_us"] && (figures["p99_us"] / 1000.0)
        "p99 #{Cell.number(millis, digits: 1)} ms"
      end

      # @param quick [Boolean]
      # @param rounds [Integer, nil] nil: the claim's default; the same for seconds
      # @param seconds [Numeric, nil]
      # @return [Settings]
      def settings(quick:, rounds:, seconds:)
        Settings.for(quick: quick, rounds: rounds, seconds: seconds)
      end

      # @return [Boolean] whether its runs are so long that an interrupted one is continued
      #   (Journal)
      def resumable?
        false
      end

      # @return [Numeric] seconds to start and stop a server, only for the printed estimate
      def overhead_seconds
        1.5
      end

      # @return [String] path that is requested until a fresh server answers
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

      # Figures of 2008-2009 that stand beside those of a load.
      # @return [Array<Published>]
      def published
        []
      end

      # @return [String, nil] what was published in another unit than a plot has
      def published_note
        nil
      end

      private

      # @return [String] a cell: the server's figure over that of the claim's YARDSTICK
      def ratio(results, server, scenario, metric)
        Cell.ratio(results.ratio(server, self.class::YARDSTICK, scenario, metric))
      end
    end

    # A claim about programs that measure themselves: a client, or a loop of one operation. A
    # subclass names its candidates (Program), and overrides #host if they need a server.
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

      # The bundle of programs that need no gem of a peer.
      # @return [Bundle]
      def ruby_bundle
        @ruby_bundle ||= Bundle.new("ruby")
      end
    end

    # The namespace of the claims in benchmark/.
    module Claims
    end
  end
end
