# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cli/commands"
require "neverblock/cli/check_options"
require "neverblock/cli/process_options"
require "tmpdir"

class HelpTest < Minitest::Test
  Help = NeverBlock::CLI::Help
  Catalog = NeverBlock::Config::Catalog

  def test_help_names_every_flag_of_the_catalog_and_of_the_interface
    options = Help.text.scan(/(?<=\s|\()-{1,2}[\w\[\]-]+/)
    Catalog::OPTIONS.flat_map(&:flags).each { |flag| assert_includes options, flag }
    %w[
      --bind --workers --fibers --environment --config --public --sendfile-root --algorithm --admin
      --scheduler --cooperative --log-requests --pidfile --port --host --version --help
      --help-config -b -w -f -e -C -p -o -v -h
    ].each { |name| assert_includes options, name }
  end

  def test_help_says_defaults_choices_variables_order_and_examples
    text = Help.text.gsub(/\s+/, " ")
    [
      "default http://127.0.0.1:9292", "default 1024", "takes text or json", "$PORT", "$PIDFILE",
      "Precedence: a command-line option", "Examples:", "neverblock upgrade",
      "neverblock check"
    ].each { |words| assert_includes text, words }
  end

  def test_help_fits_a_terminal
    assert_operator Help.text.lines.map { |line| line.chomp.length }.max, :<=, 100
  end

  def test_the_help_of_stop_and_reload_fits_a_terminal_and_names_their_options
    {
      "stop" => %w[--pidfile --config --now --help Exit],
      "reload" => %w[--pidfile --config --help Exit]
    }.each do |command, words|
      text = NeverBlock::CLI::ProcessOptions.new(command, []).help_text
      words.each { |word| assert_includes text, word }
      assert_operator text.lines.map { |line| line.chomp.length }.max, :<=, 100
    end
  end

  def test_the_help_of_check_fits_a_terminal_and_names_its_options
    text = NeverBlock::CLI::CheckOptions::HELP
    %w[--probe --json --patience --help NB_DEBUG=1 Examples: docs/guides/check.md].each do |word|
      assert_includes text, word
    end
    assert_operator text.lines.map { |line| line.chomp.length }.max, :<=, 100
  end

  def test_every_line_of_the_sample_file_is_a_comment_and_is_right_without_its_mark
    assert(Help.sample.lines.all? { |line| line.start_with?("#") || line == "\n" })
    Dir.mktmpdir do |directory|
      path = File.join(directory, "neverblock.rb")
      File.write(path, Help.sample.lines.drop(3).map { |line| line.sub(/\A# /, "") }.join)
      values = NeverBlock::Config::UserFile.read(path)
      options = Catalog::OPTIONS.select { |row| row.in_file && row.later.nil? }
      assert_equal options.map(&:key).sort, values.keys.sort
    end
  end
end
