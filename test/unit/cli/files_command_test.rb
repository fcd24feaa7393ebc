# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/served_folder"
require "neverblock"
require "neverblock/cli/commands"
require "neverblock/cli/files"
require "stringio"

# The command line of `neverblock files`, and its line on a terminal.
# test/integration/files_command_test.rb has the serving.
class FilesCommandTest < Minitest::Test
  CLI = NeverBlock::CLI

  class Screen < StringIO
    def tty?
      true
    end

    def winsize
      [24, 40]
    end
  end

  def setup
    @served = ServedFolder.new("a.txt" => "a")
  end

  def teardown
    @served.remove
  end

  def settings(*argv)
    CLI::FilesOptions.new([@served.path, *argv]).settings
  end

  def refused(*argv)
    error = StringIO.new
    assert_equal 1, CLI.run(["files", *argv], env: {}, out: StringIO.new, err: error)
    assert_equal 1, error.string.lines.size
    error.string.delete_prefix("neverblock: ").chomp
  end

  def test_the_folder_is_served_on_this_machine_alone_whatever_the_environment_says
    found = settings
    assert_equal [@served.path], found[:public_dir]
    assert_equal ["http://127.0.0.1:9292"], found.binds.map(&:to_s)
    assert_equal 1, found[:workers]
  end

  def test_without_a_folder_it_is_the_one_it_is_called_in
    Dir.chdir(@served.path) { assert_equal @served.path, CLI::FilesOptions.new([]).folder }
    Dir.chdir(File.dirname(@served.path)) do
      assert_equal @served.path, CLI::FilesOptions.new(["public"]).folder
    end
  end

  def test_addresses
    assert_equal ["http://0.0.0.0:8000"], settings("-p", "8000", "-o", "0.0.0.0").binds.map(&:to_s)
    assert_equal ["http://127.0.0.1:1", "http://[::1]:2"],
                 settings("-b", "http://127.0.0.1:1", "-b", "http://[::1]:2").binds.map(&:to_s)
  end

  def test_settings_of_the_log_of_links_and_of_figures
    found = settings(
      "--log-requests", "--log-format", "json", "--symlinks", "follow",
      "--admin", "http://127.0.0.1:0"
    )
    assert_equal [true, :json], [found[:log_requests], found[:log_format]]
    assert_equal :follow, found[:symlinks]
    assert_equal "http://127.0.0.1:0", found[:admin].to_s
  end

  WRONG = {
    ["/no/such/folder"] => "there is no folder /no/such/folder; see neverblock files --help",
    ["nowhere"] => /\Athere is no folder nowhere in .+; see neverblock files --help/,
    ["/dev/null"] => "/dev/null is not a folder",
    [".", "lib"] => "neverblock files serves one folder; got . lib",
    [".", "-w", "2"] => /\Aneverblock files has no option -w: it is one process/,
    [".", "--workers=2"] => /\Aneverblock files has no option -w/,
    [".", "-C", "x.rb"] => /\Aneverblock files has no option -C/,
    [".", "-p"] => "-p takes a value; see neverblock files --help",
    [".", "-p", "x"] => /\A-p must be a whole number from 0 to 65535; got "x"/,
    [".", "-p", "1", "-b", "http://127.0.0.1:2"] => "-b already names host and port; leave out -p",
    [".", "--simlinks", "follow"] =>
      /\Aneverblock files has no option --simlinks; did you mean --symlinks\?/,
    ["exampels"] => /there is no folder exampels.*; did you mean examples\?/,
    [".", "--symlinks", "none"] => /\A--symlinks must be inside, owner or follow; got "none"/
  }.freeze

  WRONG.each do |argv, line|
    define_method("test_#{argv.join(" ")} is one line") do
      line.is_a?(Regexp) ? assert_match(line, refused(*argv)) : assert_equal(line, refused(*argv))
    end
  end

  def test_a_file_in_place_of_a_folder_is_answered_with_the_folder_it_is_in
    path = File.join(@served.path, "a.txt")
    assert_equal "#{path} is a file; name its folder: neverblock files #{@served.path}",
                 refused(path)
  end

  def test_a_folder_that_may_not_be_looked_into
    skip "the superuser may look into any" if Process.euid.zero?

    File.chmod(0o000, @served.path)
    assert_match(/\Auser \d+ may not read the folder .+ \(chmod u\+rx\)\z/, refused(@served.path))
  ensure
    File.chmod(0o755, @served.path)
  end

  def test_help_teaches
    out = StringIO.new
    assert_equal 0, CLI.run(["files", "--help"], env: {}, out: out, err: StringIO.new)
    [
      "Usage: neverblock files [DIR]", "http://0.0.0.0:9292", "--symlinks",
      "Accept: application/json", "Ctrl-C"
    ].each { |text| assert_includes out.string, text }
    assert_operator out.string.lines.map { |line| line.chomp.size }.max, :<=, 120
    assert_equal 0, CLI.run(%w[--help], env: {}, out: out, err: StringIO.new)
    assert_includes out.string, "neverblock files DIR"
  end

  def server(*readings)
    Object.new.tap do |made|
      made.define_singleton_method(:stats) { readings.size > 1 ? readings.shift : readings.first }
    end
  end

  def test_the_line_says_what_is_under_way_how_fast_and_how_much_has_gone
    time = [10.0, 12.0, 14.0]
    readings = [
      { bytes_sent: 1_000, downloads: 1 },
      { bytes_sent: 5_001_000, downloads: 2 },
      { bytes_sent: 5_001_000, downloads: 0 }
    ]
    line = CLI::DownloadLine.new(Screen.new, server(*readings), env: {}, clock: -> { time.shift })
    assert_equal "1 download running, 0 B/s, 1.00 KB sent", line.text
    assert_equal "2 downloads running, 2.50 MB/s, 5.00 MB sent", line.text
    assert_equal "0 downloads running, 0 B/s, 5.00 MB sent", line.text
  end

  def test_the_line_is_one_line_however_narrow_the_terminal_and_is_taken_away_at_the_end
    screen = Screen.new
    stats = { bytes_sent: 10**15, downloads: 10**12 }
    line = CLI::DownloadLine.new(screen, server(stats), env: {}).start
    line.stop
    line.stop
    refute_includes screen.string, "\n"
    drawn = screen.string.split("\r").map { |text| text.delete_suffix("\e[K") }
    assert_operator drawn.map(&:size).max, :<, 40
    assert_equal "\r\e[K\r", screen.string[-5..]
  end

  def test_without_a_terminal_there_is_no_line
    out = StringIO.new
    CLI::DownloadLine.new(out, server({}), env: {}).start.stop
    CLI::DownloadLine.new(dumb = Screen.new, server({}), env: { "TERM" => "dumb" }).start.stop
    assert_equal ["", ""], [out.string, dumb.string]
  end

  def test_a_terminal_that_is_gone_ends_the_line
    screen = Screen.new
    screen.define_singleton_method(:write) { |_| raise Errno::EIO }
    CLI::DownloadLine.new(screen, server({}), env: {}).start.stop
  end
end
