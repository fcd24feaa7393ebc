# frozen_string_literal: true

require_relative "../bench_case"

# Every claim can be reported with runs missing, and says what a plot of it shows.
class BenchInterruptedClaimsTest < BenchCase
  Catalog.new.names.each do |name|
    define_method(:"test_#{name}_has_tables_and_verdicts_without_figures") do
      claim = Catalog.new.find(name)
      results = Results.new([], servers: claim.candidates.map(&:name))
      claim.tables(results).each { |table| assert_whole_rows(table) }
      assert(claim.verdicts(results).none? { |verdict| verdict.status == :met })
    end

    define_method(:"test_the_plots_of_#{name}_are_of_reported_metrics") do
      assert_includes Plots::CLAIMS, name
      assert_empty Plots.of(name).map(&:metric) - Report::METRICS
    end

    define_method(:"test_published_figures_of_#{name}_belong_to_its_loads_and_plots") do
      claim = Catalog.new.find(name)
      names = claim.scenarios.map(&:name)
      metrics = Plots.of(name).map(&:metric)
      claim.published.each do |one|
        assert_includes names, one.scenario
        assert_includes metrics, one.metric
      end
    end
  end
end
