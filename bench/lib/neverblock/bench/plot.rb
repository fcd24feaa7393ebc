# frozen_string_literal: true

module NeverBlock
  module Bench
    # One figure of a claim that the page plots. scale turns the stored unit into the shown one.
    # better is :more or :less.
    Plot = Struct.new(:metric, :title, :digits, :scale, :better, keyword_init: true) do
      # @param value [Numeric, nil] in the stored unit
      # @return [String] in the shown unit
      def text(value)
        Cell.number(value && (value * scale), digits: digits)
      end

      # @param figure [Hash{String => Object}] of a report: median, low, high, rounds
      # @return [String] the median, with lowest and highest round where there are several
      def spread(figure)
        low, high = figure.values_at("low", "high")
        return text(figure["median"]) unless figure["rounds"].to_i > 1

        "#{text(figure["median"])} (#{text(low)}..#{text(high)})"
      end
    end

    # Which plots the page shows for a claim, and the name of its table in the write-ups of
    # 2008-2009.
    module Plots
      make = ->(metric, title, digits, scale, better) {
        Plot.new(metric: metric, title: title, digits: digits, scale: scale, better: better).freeze
      }
      # Every plot, by the metric that it shows.
      ALL = [
        make.call("rate", "Requests a second", 0, 1, :more),
        make.call("cpu_us_per_request", "CPU a request, µs", 1, 1, :less),
        make.call("p50_us", "Median latency, ms", 2, 1e-3, :less),
        make.call("p99_us", "p99 latency, ms", 2, 1e-3, :less),
        make.call("mean_us", "Mean latency, ms", 2, 1e-3, :less),
        make.call("rss_peak_bytes", "Peak memory, MB", 1, 1e-6, :less),
        make.call("rss_growth_bytes", "Memory over idle, MB", 1, 1e-6, :less),
        make.call("bytes_per_client", "Memory of a client, bytes", 0, 1, :less),
        make.call("kept_share", "Share of the work kept, %", 1, 100, :more),
        make.call("first_mean_us", "First byte, mean, ms", 2, 1e-3, :less),
        make.call("top_megabytes_per_second", "Largest file, MB/s of a client", 2, 1, :more),
        make.call("megabytes_per_second", "In all, MB/s", 1, 1, :more)
      ].to_h { |plot| [plot.metric, plot] }.freeze
      # Name of the table, then the metrics.
      CLAIMS = {
        "hello" => ["Hello world", %w[rate cpu_us_per_request]],
        "delays" => ["N1, as a server", %w[rate cpu_us_per_request rss_growth_bytes]],
        "handoff" => ["Hand-off", %w[cpu_us_per_request p50_us]],
        "clients" => ["N1", %w[rate cpu_us_per_request]],
        "switch" => ["Switch", %w[cpu_us_per_request]],
        "memory" => ["Memory", %w[bytes_per_client]],
        "workers" => ["Workers", %w[rate p99_us]],
        "rails" => ["N2", %w[rate cpu_us_per_request rss_peak_bytes]],
        "activerecord" => ["N3", %w[rate cpu_us_per_request]],
        "asyncqueries" => ["Asynchronous queries", %w[rate cpu_us_per_request p50_us]],
        "sequel" => ["S1", %w[rate]],
        "mixed" => ["Short and long queries", %w[rate p50_us]],
        "mysql" => ["M1", %w[rate cpu_us_per_request]],
        "downloads" => ["G1", %w[first_mean_us top_megabytes_per_second megabytes_per_second]],
        "sendfile" => ["Y1", %w[rate cpu_us_per_request mean_us]],
        "tls" => ["TLS", %w[rate cpu_us_per_request]],
        "undisturbed" => ["Undisturbed", %w[p99_us]],
        "stalls" => ["Stalls", %w[p99_us kept_share]],
        "railstalls" => ["Rails stalls", %w[p99_us]]
      }.freeze
      # For a claim without an entry.
      DEFAULT = %w[rate cpu_us_per_request p50_us].freeze

      class << self
        # @param claim [String] its name
        # @return [String] the name of its table
        def table(claim)
          CLAIMS.fetch(claim) { [claim] }.first
        end

        # @param claim [String] its name
        # @return [Array<Plot>]
        def of(claim)
          ALL.values_at(*CLAIMS.fetch(claim) { [claim, DEFAULT] }.last)
        end
      end
    end
  end
end
