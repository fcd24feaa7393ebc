# frozen_string_literal: true

require_relative "bench_case"

# The base of the tests of the page: real results without their single runs. hello is a quick run;
# clients is the first round of a kept measurement.
class PageCase < BenchCase
  REPORT = File.join(SAMPLES, "report-quick.json")

  # @return [Array<Hash>] fresh copies: hello in two rounds, clients (N1) in one
  def reports
    JSON.parse(File.read(REPORT))["reports"]
  end

  def report(claim)
    reports.find { |one| one["claim"] == claim }
  end

  # @return [Hash] the figure, to be changed in place
  def figure(report, metric, scenario, server)
    report["figures"].find do |row|
      row.values_at("metric", "scenario", "server") == [metric, scenario, server]
    end
  end

  def collection(reports, planned: reports.map { |one| one["claim"] }, old: nil)
    Collection.new(planned, quick: true, directory: nil, old: old).tap do |made|
      reports.each { |one| made.add(one) }
    end
  end
end
