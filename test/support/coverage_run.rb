# frozen_string_literal: true

# The body of bin/coverage: runs tests on a copy of the tree whose C is compiled with counters, and
# tells what of the code has run.

require "etc"
require "fileutils"
require "rbconfig"
require "shellwords"
require_relative "coverage_run/tally"

module CoverageRun
  ROOT = File.expand_path("../..", __dir__)
  FOLDER = File.join(ROOT, "tmp/coverage")
  # The copy has no product of another build, and the tree's own extension stays as it is.
  TREE = File.join(FOLDER, "tree")
  RECORDED = File.join(FOLDER, "ruby")
  CORE = File.join(FOLDER, "core")
  BINDING = File.join(FOLDER, "binding")
  # The unit tests, but for those under valgrind, which see to faults and take minutes.
  WITHOUT = %w[test/unit/binding/memcheck_test.rb].freeze
  TESTS = (Dir.glob("test/unit/**/*_test.rb", base: ROOT).sort - WITHOUT).freeze
  HOOKS = Dir.glob("test/hooks/**/*_test.rb", base: ROOT).sort.freeze
  LEAST_RUN = 20
  # Counting takes time, and parts of a suite are long here. bin/test has the same limit, shorter.
  SUITE_SECONDS = 7_200
  TEST_SECONDS = 1_800

  # A step that has ended with an error.
  class Failed < StandardError; end

  class Run
    # @param arguments [Array<String>] perhaps "ruby", and those of bin/test; none of those: TESTS,
    #   and with "ruby" HOOKS too
    def initialize(arguments, out: $stdout)
      @ruby_only = arguments.first == "ruby"
      tests = @ruby_only ? arguments.drop(1) : arguments
      @arguments = tests.empty? ? TESTS + (@ruby_only ? HOOKS : []) : tests
      @name = tests.empty? ? default_name : "bin/test #{tests.join(" ")}"
      @out = out
    end

    # @return [Integer] exit status
    def run
      copy_tree
      @ruby_only ? copy_binding : build_binding
      passed = (@ruby_only || test_core) & test_ruby
      write_summary
      @out.puts("coverage: tests have failed: the figures are too low") unless passed
      passed ? 0 : 1
    rescue Failed => e
      warn("bin/coverage: #{e.message}")
      1
    end

    private

    def default_name
      @ruby_only ? "the unit tests and those of hooks" : "the unit tests"
    end

    def copy_tree
      FileUtils.rm_rf(FOLDER)
      FileUtils.mkdir_p([TREE, RECORDED, CORE, BINDING])
      names = IO.popen(%w[git ls-files -z], chdir: ROOT, &:read).split("\0")
      names.select { |name| File.file?(File.join(ROOT, name)) }.each do |name|
        FileUtils.mkdir_p(File.join(TREE, File.dirname(name)))
        FileUtils.cp(File.join(ROOT, name), File.join(TREE, name))
      end
      FileUtils.ln_s(File.join(ROOT, "vendor"), File.join(TREE, "vendor"))
      FileUtils.cp_r([File.join(ROOT, ".bundle"), File.join(ROOT, "Gemfile.lock")], TREE)
    end

    def build_binding
      @out.puts("coverage: compiles the extension")
      step("extension", RbConfig.ruby, File.join(TREE, "ext/neverblock/extconf.rb"),
           "--enable-coverage", chdir: BINDING)
      step("extension", "make", "-j#{jobs}", chdir: BINDING)
      copy_library(BINDING)
    end

    def copy_binding
      copy_library(File.join(ROOT, "lib/neverblock"))
    end

    def copy_library(folder)
      library = "neverblock.#{RbConfig::CONFIG["DLEXT"]}"
      FileUtils.cp(File.join(folder, library), File.join(TREE, "lib/neverblock", library))
    end

    def step(name, *command, chdir:)
      log = File.join(FOLDER, "#{name}.log")
      return if system(*command, chdir: chdir, %i[out err] => [log, "a"])

      raise Failed, "#{command.join(" ")} has failed; see #{log}:\n" \
                    "#{File.readlines(log).last(10).join}"
    end

    # @return [Boolean] whether all have passed
    def test_core
      @out.puts("coverage: C, test/c")
      system("make", "-C", File.join(TREE, "test/c"), "-j#{jobs}", "check", "SAN=none", "OPT=-O0",
             "CC=gcc --coverage", "BUILD=#{CORE}", out: File.join(FOLDER, "core.log"),
                                                   err: %i[child out])
    end

    def test_ruby
      @out.puts("coverage: Ruby, #{@name}")
      recorder = File.join(TREE, "test/support/coverage_run/recorder.rb")
      environment = { "RUBYOPT" => "-r#{recorder}", "NB_COVERAGE_FOLDER" => RECORDED,
                      "NB_COVERAGE_ROOT" => File.join(TREE, "lib"),
                      "NB_TEST_SUITE_SECONDS" => SUITE_SECONDS.to_s,
                      "NB_TEST_SECONDS" => TEST_SECONDS.to_s,
                      "BUNDLE_GEMFILE" => File.join(TREE, "Gemfile"), "LC_ALL" => "C.UTF-8" }
      system(environment, RbConfig.ruby, "--disable-gems", "-Itest/support", "-rtest_run", "-e",
             "exit TestRun.new(ARGV).run", "--", *@arguments, chdir: TREE)
    end

    def jobs
      [Etc.nprocessors, 1].max
    end

    def write_summary
      text = ["# Coverage", *(@ruby_only ? [] : c_tables), *ruby_tables].join("\n\n")
      path = File.join(FOLDER, "summary.md")
      File.write(path, "#{text}\n")
      @out.puts(text, "", "coverage: written to #{path.delete_prefix("#{ROOT}/")}")
    end

    def c_tables
      c = CTally.new([CORE, BINDING], File.join(TREE, "ext/neverblock"))
      ["C: test/c, and the extension in #{@name}.", Table.new(c.rows(2)).text]
    end

    def ruby_tables
      lib = File.join(TREE, "lib")
      ruby = RubyTally.new(RECORDED, lib, Dir.glob("**/*.rb", base: lib))
      ["Ruby: #{@name}.", Table.new(ruby.rows(2)).text,
       "Ruby: the files in which most did not run.", Table.new(ruby.least_run(LEAST_RUN)).text]
    end
  end

  # Rows as a table in Markdown.
  class Table
    def initialize(rows)
      @rows = rows
    end

    def text
      ["| folder or file | files | lines | run | branches | run |", "|---|--:|--:|--:|--:|--:|",
       *@rows.map { |row| line(row) }].join("\n")
    end

    private

    def line(row)
      "| #{[row.name, row.files, row.lines, share(row.lines_run, row.lines), row.branches,
            share(row.branches_run, row.branches)].join(" | ")} |"
    end

    # Rounded down: 100 is said of all.
    def share(part, all)
      all.zero? ? "" : "#{(part * 1000 / all) / 10.0} %"
    end
  end
end
