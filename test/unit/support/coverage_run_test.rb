# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"
require "support/coverage_run"

# What bin/coverage counts, of a small program in each language that has really run.
class CoverageRunTest < Minitest::Test
  RECORDER = File.expand_path("../../support/coverage_run/recorder.rb", __dir__)

  def setup
    @root = File.realpath(Dir.mktmpdir("neverblock-coverage"))
    @data = File.join(@root, "data")
    FileUtils.mkdir_p(@data)
  end

  def teardown
    FileUtils.rm_rf(@root)
  end

  def test_lines_and_branches_of_ruby_are_those_of_all_processes_together
    write("lib/a/one.rb",
          "def one(number)\n  if number > 1\n    :many\n  else\n    :one\n  end\nend\n")
    write("lib/b/never.rb", "def never\n  1\nend\n")
    run_ruby("one(1)")
    assert_equal [["a", 1, 4, 3, 2, 1], ["b", 1, 2, 0, 0, 0], ["all", 2, 6, 3, 2, 1]], ruby_rows
    run_ruby("fork { one(2); exit }; Process.wait")
    assert_equal ["a", 1, 4, 4, 2, 2], ruby_rows.first
  end

  def test_what_runs_before_exit_without_at_exit_blocks_and_before_exec_counts
    write("lib/a/one.rb", "def one\n  1\nend\ndef two\n  2\nend\ndef three\n  3\nend\n")
    run_ruby("fork { one; exit! }; Process.wait; fork { two; Process.exit!(true) }; Process.wait")
    assert_equal ["a", 1, 6, 5, 0, 0], ruby_rows.first
    run_ruby("three; exec('true')")
    assert_equal ["a", 1, 6, 6, 0, 0], ruby_rows.first
  end

  def test_files_are_named_in_which_most_did_not_run
    write("lib/a/one.rb", "def one\n  1\nend\n")
    write("lib/a/two.rb", "def two\n  puts(1)\n  puts(2)\nend\n")
    run_ruby("one")
    assert_equal [["a/two.rb", 1, 3, 0, 0, 0]], tally.least_run(1).map(&:to_a)
  end

  # As a test process has it: what runs the tests was loaded before the recorder.
  def test_what_tests_run_counts
    write("lib/a/one.rb", "def one\n  1\nend\n")
    write("one_test.rb", <<~RUBY)
      require "minitest/autorun"
      require "#{@root}/lib/a/one"
      class OneTest < Minitest::Test
        def test_one = assert_equal(1, one)
      end
    RUBY
    said, status = Open3.capture2e(recorded, RbConfig.ruby, "-rminitest/autorun", "one_test.rb",
                                   chdir: @root)
    assert status.success?, said
    assert_equal ["a", 1, 2, 2, 0, 0], ruby_rows.first
  end

  def test_lines_of_c_are_those_of_all_programs_together
    skip "gcov is not there" unless system("command -v gcc gcov >/dev/null")
    write("c/core/base/one.c", <<~C)
      int one(int number);
      int one(int number) {
          if (number > 1)
              return 2;
          return 1;
      }
    C
    write("main.c", "int one(int);\nint main(int count, char **words) { return one(count) * 0; }\n")
    compile("gcc", "--coverage", "-O0", "-c", "c/core/base/one.c", "-o", "data/one.o")
    compile("gcc", "--coverage", "main.c", "data/one.o", "-o", "data/program")
    compile(File.join(@data, "program"))
    assert_equal ["core/base", 1, 4, 3, 0, 0], c_rows.first
    compile(File.join(@data, "program"), "a word")
    assert_equal ["core/base", 1, 4, 4, 0, 0], c_rows.first
  end

  def test_a_share_is_rounded_down_so_that_100_is_all
    row = CoverageRun::Tally::Row.new("all", 3, 10_000, 9_999, 0, 0)
    assert_equal "| all | 3 | 10000 | 99.9 % | 0 |  |",
                 CoverageRun::Table.new([row]).text.lines.last
  end

  private

  def write(name, text)
    path = File.join(@root, name)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, text)
  end

  def run_ruby(code)
    said, status = Open3.capture2e(recorded, RbConfig.ruby, "-e",
                                   "require '#{@root}/lib/a/one'; #{code}")
    assert status.success?, said
  end

  def recorded
    { "RUBYOPT" => "-r#{RECORDER}", "NB_COVERAGE_FOLDER" => @data,
      "NB_COVERAGE_ROOT" => File.join(@root, "lib") }
  end

  def tally
    lib = File.join(@root, "lib")
    CoverageRun::RubyTally.new(@data, lib, Dir.glob("**/*.rb", base: lib))
  end

  def ruby_rows
    tally.rows(1).map(&:to_a)
  end

  def c_rows
    CoverageRun::CTally.new([@data], File.join(@root, "c")).rows(2).map(&:to_a)
  end

  def compile(*words)
    said, status = Open3.capture2e(*words, chdir: @root)
    assert status.success?, said
  end
end
