# frozen_string_literal: true

# The table of README.md: figures of NeverBlock and other servers, by benchmark/results/*.json. A
# test fails when README.md has another. To bring it up to date after a benchmark:
#
#   ruby test/support/readme_table.rb

require "json"

module ReadmeTable
  ROOT = File.expand_path("../..", __dir__)
  README = File.join(ROOT, "README.md")
  RESULTS = File.join(ROOT, "benchmark/results")
  BEGINNING = "<!-- figures: written by test/support/readme_table.rb -->"
  ENDING = "<!-- end of figures -->"
  SERVERS = %w[NeverBlock Puma Falcon Iodine Itsi].freeze

  # One line of the table: a claim's scenario and metric, and each server's name there.
  Row = Struct.new(:words, :claim, :scenario, :metric, :names, keyword_init: true) do
    # @param results [Hash{String => Hash}] by claim
    # @return [Hash{String => Numeric}] medians, by server
    def medians(results)
      figures = results.fetch(claim).fetch("figures").select do |figure|
        figure.values_at("scenario", "metric") == [scenario, metric]
      end
      names.filter_map do |server, name|
        found = figures.find { |figure| figure["server"] == name }
        [server, found.fetch("median")] if found
      end.to_h
    end

    # @return [String] a figure in the row's unit
    def show(median)
      case metric
      when "rate" then thousands(median.round)
      when /_us\z/ then decimal(median / 1_000.0)
      when /_bytes\z/ then thousands((median / 1_000_000.0).round)
      end
    end

    private

    def decimal(number)
      number < 10 ? format("%.1f", number) : thousands(number.round)
    end

    def thousands(number)
      number.to_s.reverse.scan(/\d{1,3}/).join(",").reverse
    end
  end

  TWO = { "NeverBlock" => "neverblock w2", "Puma" => "puma w2 t5", "Falcon" => "falcon w2",
          "Iodine" => "iodine w2 t5", "Itsi" => "itsi w2 t5" }.freeze
  RAILS = { "NeverBlock" => "neverblock", "Puma" => "puma 12", "Falcon" => "falcon" }.freeze
  ROWS = [
    Row.new(words: "hello world, one process, 64 clients: requests a second", claim: "hello",
            scenario: "64 clients", metric: "rate",
            names: { "NeverBlock" => "neverblock", "Puma" => "puma 5", "Falcon" => "falcon",
                     "Iodine" => "iodine 1", "Itsi" => "itsi 1" }),
    Row.new(words: "hello world, 2 workers, 64 clients: requests a second", claim: "workers",
            scenario: "hello world", metric: "rate", names: TWO),
    Row.new(words: "its p99, ms", claim: "workers", scenario: "hello world", metric: "p99_us",
            names: TWO),
    Row.new(words: "light requests beside some that compute for 2 s, 2 workers: p99, ms",
            claim: "workers", scenario: "light beside a CPU burner", metric: "p99_us", names: TWO),
    Row.new(words: "8 clients, each request computes for 10 ms, 2 workers: requests a second",
            claim: "workers", scenario: "CPU-bound", metric: "rate", names: TWO),
    Row.new(words: "Rails, short queries, one process, 200 clients: requests a second",
            claim: "rails", scenario: "short queries, 200 clients", metric: "rate", names: RAILS),
    Row.new(words: "its p99, ms", claim: "rails", scenario: "short queries, 200 clients",
            metric: "p99_us", names: RAILS),
    Row.new(words: "its memory at most, MB", claim: "rails", scenario: "short queries, 200 clients",
            metric: "rss_peak_bytes", names: RAILS),
    Row.new(words: "HTTPS/1.1, one process: requests a second", claim: "tls",
            scenario: "HTTPS/1.1", metric: "rate",
            names: { "NeverBlock" => "neverblock", "Puma" => "puma 5" })
  ].freeze

  module_function

  # @return [Hash{String => Hash}] the results of each claim a row is of
  def results(folder = RESULTS)
    ROWS.map(&:claim).uniq.to_h do |claim|
      [claim, JSON.parse(File.read(File.join(folder, "#{claim}.json")))]
    end
  end

  # Without the rows in which nobody is beside NeverBlock, and servers that have no figure.
  # @return [String] the table and a line of what it is of
  def text(results)
    rows = ROWS.map { |row| [row, row.medians(results)] }.select { |_, medians| medians.size > 1 }
    servers = SERVERS.select { |server| rows.any? { |_, medians| medians.key?(server) } }
    lines = rows.map do |row, medians|
      cells = servers.map { |server| medians.key?(server) ? row.show(medians[server]) : "-" }
      "| #{[row.words, *cells].join(" | ")} |"
    end
    ["| | #{servers.join(" | ")} |", "|---|#{"--:|" * servers.size}", *lines, "",
     legend(rows.map(&:first), results, SERVERS - servers)].join("\n")
  end

  def legend(rows, results, absent)
    used = results.slice(*rows.map(&:claim)).values
    dates = used.map { |result| result.fetch("started_at")[0, 10] }.minmax.uniq.join(" to ")
    cores = used.map { |result| result.fetch("machine").fetch("cores") }.uniq.join(", ")
    ["Medians; each row was measured together, on #{cores} cores, #{dates}: #{versions(used)}; " \
     "-: not measured.",
     ("Not measured yet: #{absent.join(", ")}." unless absent.empty?)].compact.join(" ")
  end

  def versions(results)
    servers = results.flat_map { |result| result.fetch("servers") }
    (SERVERS - ["NeverBlock"]).filter_map do |name|
      found = servers.select { |server| server["name"].start_with?(name.downcase) }
      versions = found.map { |server| server["version"] }.uniq
      "#{name} #{versions.join(", ")}" unless found.empty?
    end.join(", ")
  end

  # @return [String] of README.md, with that table in it
  def replaced(readme, table)
    head, rest = readme.split("#{BEGINNING}\n", 2)
    _, tail = rest.to_s.split(ENDING, 2)
    raise "README.md has no #{BEGINNING.inspect} and #{ENDING.inspect}" unless tail

    "#{head}#{BEGINNING}\n#{table}\n#{ENDING}#{tail}"
  end
end

if $PROGRAM_NAME == __FILE__
  table = ReadmeTable.text(ReadmeTable.results)
  File.write(ReadmeTable::README, ReadmeTable.replaced(File.read(ReadmeTable::README), table))
end
