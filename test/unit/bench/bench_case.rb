# frozen_string_literal: true

# The base of the tests of the benchmark runner: samples captured from real programs, and servers
# that need no process.

require "minitest/autorun"
require "minitest/mock"
require "stringio"
require "timeout"
require "tmpdir"

$LOAD_PATH.unshift(
  *%w[lib bench/lib].map { |folder| File.expand_path("../../../#{folder}", __dir__) }
)
require "neverblock/bench/cli"

class BenchCase < Minitest::Test
  include NeverBlock::Bench

  SAMPLES = File.expand_path("samples", __dir__)

  # A server process that needs no process.
  StandInProcess = Struct.new(:tree, :url, :alive) do
    alias_method :alive?, :alive

    def last_words
      "killed"
    end
  end

  def sample(name)
    File.read(File.join(SAMPLES, name))
  end

  def summary(*values)
    Summary.of(values)
  end

  # A run as a report holds it.
  def run_of(server, round: 1, scenario: "load", **figures)
    { "server" => server, "round" => round, "scenario" => scenario, "flags" => [] }
      .merge(figures.transform_keys(&:to_s))
  end

  # @return [Array<String>] the names of the candidates that a claim measures under a scenario
  def measured_names(claim, scenario)
    claim.candidates.select { |server| claim.measures?(server, scenario) }.map(&:name)
  end

  # @return [Array<Integer>] which verdicts say that a claim is missed
  def missed_places(verdicts)
    verdicts.each_index.select { |index| verdicts[index].status == :missed }
  end

  # Each row has a cell for each header.
  def assert_whole_rows(table)
    table.rows.each { |row| assert_equal table.headers.size, row.size, table.title }
  end
end

# A server that only says whether it is installed.
class StandInServer
  attr_reader :name, :settings

  def initialize(name, missing: nil)
    @name = name
    @settings = "stand-in"
    @missing = missing
  end

  def prepare
    raise NeverBlock::Bench::Error, @missing if @missing
  end

  def version
    "1.0"
  end
end

# Two loads, and a table of the rates.
class StandInClaim < NeverBlock::Bench::Claim
  def name
    "standin"
  end

  def title
    "a stand-in"
  end

  def scenarios
    %w[one two].map do |name|
      NeverBlock::Bench::Scenario.new(
        name: name, title: name, load: NeverBlock::Bench::Load.new(connections: 1)
      )
    end
  end

  def tables(results)
    rows = results.servers.map do |name|
      [name, NeverBlock::Bench::Cell.spread(results.figure(name, "one", "rate"))]
    end
    [NeverBlock::Bench::Table.new("Rates", headers: %w[server rate], rows: rows)]
  end

  def verdicts(results)
    [NeverBlock::Bench::Verdict.judge("a beside b", results.ratio("a", "b", "one", "rate"),
                                      limit: "at least 0.5 x") { |ratio| ratio >= 0.5 }]
  end
end
