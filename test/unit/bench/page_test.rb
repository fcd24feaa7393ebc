# frozen_string_literal: true

require_relative "page_case"

class BenchPageTest < PageCase
  def test_each_report_has_a_section_named_as_its_table_with_a_plot_of_each_figure
    html = html(reports)
    ["Hello world: Requests a second", "Hello world: CPU a request, µs", "N1: Requests a second",
     "N1: CPU a request, µs"].each { |title| assert_includes html, "<h3>#{title} " }
    rates = report("clients")["figures"].count { |row| row["metric"] == "rate" }
    assert_operator html.scan('<svg class="bar"').size, :>, rates
  end

  def test_a_bar_is_as_long_as_its_share_of_the_largest_value
    hello = report("hello")
    high = { "median" => 200.0, "low" => 100.0, "high" => 400.0, "rounds" => 2 }
    figure(hello, "rate", "1 client", "neverblock").merge!(high)
    figure(hello, "rate", "1 client", "nginx")
      .merge!("median" => 50.0, "low" => 40.0, "high" => 60.0, "rounds" => 2)
    html = html([hello])
    assert_includes html, '<rect class="own" x="0" y="3" width="50.0%" height="12"/>' \
                          '<line class="range" x1="25.0%" x2="100.0%"'
    assert_includes html, '<rect class="peer" x="0" y="3" width="12.5%"'
    assert_includes html, "200 (100..400)"
  end

  def test_one_round_has_no_range
    refute_includes html([report("clients")]), 'class="range"'
  end

  def test_figures_of_2009_stand_beside_those_of_today
    html = html([report("clients")])
    assert_includes html, '<tr class="old"><th scope="row">2009: NeverBlock</th>'
    assert_includes html, "<td>2,360</td>"
  end

  def test_it_asks_for_nothing_and_runs_nothing
    html = html(reports)
    refute_match(/<script|<link|<img|<iframe|src=|url\(|@import|\sstyle=/, html)
    refute_match(/href="[^#]/, html)
    policy = html[/Content-Security-Policy" content="([^"]*)"/, 1]
    digest = Digest::SHA256.base64digest(html[%r{<style>(.*)</style>}m, 1])
    assert_includes policy, "default-src 'none'; style-src 'sha256-#{digest}'"
  end

  def test_text_of_a_report_is_no_markup
    hello = report("hello")
    hello["title"] = "<b>&\"'"
    hello["servers"].first["settings"] = "<script>"
    html = html([hello])
    assert_includes html, "&lt;b&gt;&amp;&quot;&#39;"
    refute_match(/<b>|<script/, html)
  end

  def test_machine_and_versions_are_told
    html = html(reports)
    report("hello")["servers"].each do |server|
      assert_includes html, "<dt>#{server["name"]}</dt><dd>#{server["version"]}, "
    end
    assert_includes html, report("hello")["machine"]["kernel"]
  end

  def test_missing_claims_and_runs_are_marked
    hello = report("hello").merge(
      "interrupted" => true,
      "missing" => [{ "round" => 2, "scenario" => "1 client", "server" => "nginx",
                      "reason" => "interrupted" }]
    )
    html = Page.new(collection([hello], planned: %w[hello mysql])).to_html
    assert_includes html, "<li>M1 (mysql): not reached</li>"
    assert_includes html, "interrupted: 1 planned runs are missing"
    assert_includes html, "round 2, 1 client, nginx: interrupted"
  end

  def test_a_report_without_figures_says_so
    assert_includes html([report("hello").merge("figures" => [])]), "there is no plot"
  end

  def test_changes_against_an_older_report_are_listed
    old = report("hello")
    row = figure(old, "rate", "1 client", "nginx")
    %w[median low high].each { |key| row[key] *= 100 }
    html = html([report("hello")], old: [old])
    assert_match(/Compared: 1 worse, \d+ within the noise\./, html)
    assert_includes html, '<td class="worse">worse, 99 %</td>'
  end

  private

  def html(reports, old: nil)
    Page.new(collection(reports, old: old)).to_html
  end
end
