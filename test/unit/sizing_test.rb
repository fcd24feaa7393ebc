# frozen_string_literal: true

# The examples of docs/guides/sizing.md, by the formula of the site's calculator.

require_relative "../support/unit"
require "json"
require "open3"

class SizingTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  FORMULA = File.join(ROOT, "site/content/assets/sizing.js")
  INPUTS = %w[rate ruby_ms wait_ms database_ms processors connections database_max application_mb
              request_kb].freeze
  PLAIN = { "rate" => 100, "ruby_ms" => 10, "wait_ms" => 60, "database_ms" => 20,
            "processors" => 4, "connections" => 500, "database_max" => 100,
            "application_mb" => 150, "request_kb" => 50 }.freeze

  def setup
    skip "needs Node.js" unless system("node", "--version", out: File::NULL, err: File::NULL)
  end

  def test_the_examples_of_the_guide
    rows = examples
    assert_operator rows.size, :>=, 4
    sizes(rows.map { |row| row.slice(*INPUTS) }).zip(rows) do |found, row|
      wanted = row.except(*INPUTS, "")
      assert_equal wanted, found.slice(*wanted.keys), row[""]
    end
  end

  def test_workers_are_no_more_than_processors_and_what_is_left_over_are_machines
    found = size("rate" => 2_000)
    assert_equal [4, 8], found.values_at("workers", "machines")
  end

  def test_all_pools_together_leave_the_database_connections_for_others
    found = size("rate" => 400, "database_ms" => 500, "database_max" => 40)
    assert_operator found.values_at("workers", "machines", "pool").inject(:*), :<=, 36
    assert found["database_short"]
    refute size["database_short"]
  end

  def test_more_of_anything_takes_no_less
    before = size
    %w[rate ruby_ms wait_ms connections application_mb request_kb].each do |name|
      after = size(name => PLAIN[name] * 3)
      assert_operator after["memory_mb"], :>=, before["memory_mb"], name
      assert_operator after["workers"], :>=, before["workers"], name
    end
  end

  def test_nothing_to_do_is_one_of_each
    found = size(INPUTS.to_h { |name| [name, 0] })
    assert_equal [1, 1, 1, 1, 1],
                 found.values_at("workers", "fibers", "pool", "io_threads", "machines")
  end

  private

  def size(given = {}) = sizes([PLAIN.merge(given)]).first

  def sizes(inputs)
    sized = "#{JSON.generate(inputs)}.map(require(#{FORMULA.inspect}))"
    script = "console.log(JSON.stringify(#{sized}))"
    output, status = Open3.capture2e("node", "-e", script)
    assert_predicate status, :success?, output
    JSON.parse(output)
  end

  # @return [Array<Hash{String => Integer, String}>]
  def examples
    text = File.read(File.join(ROOT, "docs/guides/sizing.md"))
    rows = text[/^## Examples\n(.*?)\n\n(?!\|)/m, 1].lines.grep(/^\|/)
    head, _rule, *body = rows.map { |row| row.strip.split("|").drop(1).map(&:strip) }
    body.map do |cells|
      head.zip(cells).to_h { |name, cell| [name, name.empty? ? cell : Integer(cell)] }
    end
  end
end
