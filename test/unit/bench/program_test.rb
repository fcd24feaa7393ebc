# frozen_string_literal: true

require_relative "bench_case"

class BenchProgramTest < BenchCase
  # A bundle that hides nothing: the programs here need no gems.
  class NoBundle
    def install; end

    def environment
      { "BUNDLE_GEMFILE" => "/nowhere/Gemfile" }
    end
  end

  def setup
    @directory = Dir.mktmpdir
  end

  def teardown
    FileUtils.remove_entry(@directory)
  end

  def test_a_program_gets_its_job_and_its_way_as_json_and_gives_what_it_found
    program = program_of("job = JSON.parse(ARGV[0]); puts 'noise', %(bench-json " \
                         "{\"seen\":\#{JSON.generate(job)},\"x\":\"\#{ENV['X']}\"})")
    found = program.run({ "seconds" => 0, "path" => "/5" })
    assert_equal({ "seen" => { "seconds" => 0, "path" => "/5", "way" => "fast" }, "x" => "1" },
                 found)
  end

  def test_its_version_is_what_it_says_when_it_is_checked
    program = program_of("puts %(bench-json {\"version\":\"9 \#{JSON.parse(ARGV[0])['check']}\"})")
    program.prepare
    assert_equal "9 true", program.version
    assert_equal "own", program.family
  end

  def test_a_program_that_says_nothing_is_an_error_with_its_words
    error = assert_raises(Error) { program_of("abort 'no such selector'").prepare }
    assert_equal "no such selector", error.message
  end

  def test_a_program_that_hangs_is_ended_and_said_so
    error = assert_raises(Error) do
      program_of("sleep").run({ "seconds" => 0.1 }, grace_seconds: 0.9)
    end
    assert_equal "it did not end in 1.0 s", error.message
  end

  def test_a_program_that_asks_a_server_leaves_it_a_core
    pinned = Program.new("a", settings: "s", file: "f.rb", way: "w", bundle: NoBundle.new,
                              pinned: true)
    free = Program.new("a", settings: "s", file: "f.rb", way: "w", bundle: NoBundle.new)
    assert_equal Cores.program_prefix + free.command, pinned.command
    assert_equal [*RUBY, "-I", File.join(ROOT, "lib"), File.join(ROOT, "f.rb")], free.command
  end

  private

  # Runs without the bundle that a real program has.
  def program_of(source)
    file = File.join(@directory, "program.rb")
    File.write(file, "require 'json'\n#{source}\n")
    program = Program.new("own program", settings: "s", file: "f.rb", way: "fast",
                                         bundle: NoBundle.new, environment: { "X" => "1" })
    program.define_singleton_method(:command) { [RbConfig.ruby, file] }
    program
  end
end
