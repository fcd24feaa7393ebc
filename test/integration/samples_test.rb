# frozen_string_literal: true

# Every code sample of README.md, CONTRIBUTING.md and docs/, run or checked: see
# test/support/samples/README.md.

require "minitest/autorun"
require_relative "../support/samples"

class SamplesTest < Minitest::Test
  only_over :plain, "samples write their own addresses"

  KINDS = {
    "ruby" => Samples::RubySample, "sh" => Samples::ShellSample, "console" => Samples::ShellSample,
    "yaml" => Samples::DataSample, "json" => Samples::DataSample, "promql" => Samples::DataSample,
    "dockerfile" => Samples::DataSample
  }.freeze
  # What a program prints, and drawings.
  SHOWN = "text"
  BLOCKS = Samples::Pages.blocks

  BLOCKS.each do |block|
    next if block.kind == SHOWN || block.reason

    define_method("test_#{block.kind}_of_#{block.place}") do
      kind = KINDS.fetch(block.kind) do
        flunk("#{block.place}: the fence says #{block.kind.inspect}; " \
              "known are #{[*KINDS.keys, SHOWN].join(", ")}")
      end
      run_sample(kind, block)
    end
  end

  def test_there_are_few_samples_that_are_not_run
    counts = BLOCKS.map { |block| block.reason ? "not run" : block.kind }.tally
    puts "samples: #{counts.sort.map { |kind, count| "#{kind} #{count}" }.join(", ")}"
    BLOCKS.select(&:reason).each { |block| puts "  #{block.place} is not run: #{block.reason}" }
    assert_operator counts.fetch("not run", 0), :<=, BLOCKS.size / 20
  end

  def test_commands_within_sentences_are_taken
    wrong = Dir.mktmpdir do |folder|
      Dir.chdir(folder) do
        Samples::Inline.commands.filter_map do |place, code|
          Samples::Inline.parse(code)
          nil
        rescue NeverBlock::Error => e
          "#{place}: #{code}: #{e.message}"
        end
      end
    end
    assert_empty wrong
    assert_operator Samples::Inline.commands.size, :>, 50
  end

  def test_settings_within_sentences_are_accepted
    wrong = Samples::Sandbox.open do |sandbox|
      Samples::Inline.settings.filter_map do |place, code|
        next if Samples::Inline.mention?(code)

        path = sandbox.write("sample.rb", sandbox.localize(code))
        Dir.chdir(sandbox.folder) { NeverBlock::Config::UserFile.read(path) }
        nil
      rescue NeverBlock::Error => e
        "#{place}: #{code}: #{e.message}"
      end
    end
    assert_empty wrong
    assert_operator Samples::Inline.settings.size, :>, 100
  end

  def test_files_of_the_project_that_are_named_are_there
    assert_empty Samples::Inline.missing_files
  end

  # The finder itself.
  def test_a_block_has_its_page_line_kind_text_and_marker
    page = "text\n<!-- sample: not run, needs a moon -->\n\n  ```sh\n  a\n  ```\n```\nb\n```\n"
    found = Samples::Pages.blocks_of("p.md", page)
    assert_equal [["p.md:4", "sh", "a\n", "needs a moon"], ["p.md:7", "", "b\n", nil]],
                 found.map { |block| [block.place, block.kind, block.text, block.reason] }
  end

  WRONG = {
    "ruby" => ["fibers \"many\"\n", "nothing_like_this\n", "gem \"neverblok\"\n", "def\n",
               "run(->(env) { [500, {}, []] })\n"],
    "sh" => ["neverblock --no-such-option\n", "bin/demo --no-such-option\n"],
    "json" => ["{\n"],
    "yaml" => ["livenessProbe: { httpGet: { path: /no, port: 9293 } }\n"],
    "dockerfile" => ["CMD [\"bundle\", \"exec\", \"neverblock\", \"--no\"]\n"]
  }.freeze

  WRONG.each do |kind, texts|
    define_method("test_a_wrong_#{kind}_fails") do
      texts.each do |text|
        assert_raises(Minitest::Assertion, text) do
          run_sample(KINDS.fetch(kind), Samples::Block.new("p.md", 1, kind, text))
        end
      end
    end
  end

  private

  def run_sample(kind, block)
    unchecked = catch(:unchecked) do
      Samples::Sandbox.open { |sandbox| kind.new(block, sandbox).run }
      nil
    end
    skip("#{block.place}: #{unchecked}") if unchecked
    pass
  rescue StandardError, SyntaxError, LoadError => e
    flunk("#{block.place}: #{e.class}: #{e.message}\n#{block.text}")
  end
end
