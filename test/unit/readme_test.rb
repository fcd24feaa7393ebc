# frozen_string_literal: true

require "test_helper"
require "json"
require "support/readme_table"
require "neverblock/bench/cli"

# README.md: its table is what the results say, its links lead somewhere, and it stays short.
class ReadmeTest < Minitest::Test
  ROOT = ReadmeTable::ROOT
  TEXT = File.read(ReadmeTable::README)

  def test_the_table_is_what_the_results_say
    table = ReadmeTable.text(ReadmeTable.results)
    assert_equal ReadmeTable.replaced(TEXT, table), TEXT,
                 "run: ruby test/support/readme_table.rb"
  end

  def test_a_row_shows_the_medians_in_its_unit_and_what_was_not_measured
    row = ReadmeTable::Row.new(claim: "a", scenario: "s", metric: "p99_us",
                               names: { "NeverBlock" => "neverblock w2", "Falcon" => "falcon" })
    results = { "a" => { "figures" => [
      { "server" => "neverblock w2", "scenario" => "s", "metric" => "p99_us", "median" => 472 },
      { "server" => "neverblock w2", "scenario" => "s", "metric" => "rate", "median" => 1 },
      { "server" => "neverblock", "scenario" => "s", "metric" => "p99_us", "median" => 9 }
    ] } }
    assert_equal({ "NeverBlock" => 472 }, row.medians(results))
    assert_equal ["0.5", "1,245"], [472, 1_244_833].map { |median| row.show(median) }
    row.metric = "rate"
    assert_equal "123,093", row.show(123_092.88)
    row.metric = "rss_peak_bytes"
    assert_equal "388", row.show(388_198_400)
  end

  # A row in which only NeverBlock has a figure compares nothing.
  def test_a_row_and_a_server_without_figures_are_left_out_and_named
    results = ReadmeTable.results
    results.each_value do |result|
      result["figures"].reject! { |figure| figure["server"].match?(/\A(?:iodine|itsi)/) }
    end
    results["hello"]["figures"].select! { |figure| figure["server"] == "neverblock" }
    text = ReadmeTable.text(results)
    refute_includes text, "hello world, one process"
    assert_match(/Not measured yet: Iodine, Itsi\.$/, text)
    figure = { "server" => "iodine 1", "scenario" => "64 clients", "metric" => "rate",
               "median" => 77_000 }
    results["hello"]["figures"] << figure
    text = ReadmeTable.text(results)
    assert_match(/^\| \| NeverBlock \| Puma \| Falcon \| Iodine \|$/, text)
    assert_match(/^\| hello world, one process.* \| [\d,]+ \| - \| - \| 77,000 \|$/, text)
    assert_match(/Not measured yet: Itsi\.$/, text)
  end

  def test_without_its_markers_it_is_not_rewritten
    error = assert_raises(RuntimeError) { ReadmeTable.replaced("# A title\n", "table") }
    assert_match(/README.md has no/, error.message)
  end

  def test_it_is_short_and_its_picture_is_small
    assert_operator TEXT.lines.size, :<=, 110
    pictures = TEXT.scan(/!\[[^\]]+\]\(([^)]+)\)/).flatten
    refute_empty pictures
    pictures.each do |path|
      assert_operator File.size(File.join(ROOT, path)), :<=, 150 * 1024
    end
  end

  def test_every_link_within_the_repository_leads_to_a_file
    links = TEXT.scan(/\]\(([^)#]+)/).flatten.reject { |link| link.match?(/\Ahttps?:/) }
    refute_empty links
    assert_empty(links.reject { |link| File.exist?(File.join(ROOT, link)) })
  end

  def test_the_benchmarks_know_each_server_in_the_table
    known = NeverBlock::Bench::Servers.all.map(&:name)
    named = ReadmeTable::ROWS.reject { |row| %w[rails tls].include?(row.claim) }
    assert_empty named.flat_map { |row| row.names.values } - known
  end
end
