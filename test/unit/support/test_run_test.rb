# frozen_string_literal: true

# The counts that bin/test ends with are right for passes, failures, skips, crashes and hangs, of C
# and of Ruby.

require "test_helper"
require "fileutils"
require "stringio"
require "tmpdir"
require "support/test_run"

class TestRunTest < Minitest::Test
  CMOCKA = <<~OUTPUT
    [==========] Running 3 test(s).
    [ RUN      ] adds
    [       OK ] adds
    [ RUN      ] needs_kqueue
    no kqueue on this system
    [  SKIPPED ] needs_kqueue
    [ RUN      ] breaks
    [  ERROR   ] --- 1 != 2
    [  FAILED  ] breaks
    [==========] 3 test(s) run.
    [  PASSED  ] 1 test(s).
    [  SKIPPED ] 1 test(s), listed below:
    [  SKIPPED ] needs_kqueue
    [  FAILED  ] 1 test(s), listed below:
    [  FAILED  ] breaks
    FAIL base/test_a (exit 1)
    [==========] Running 1 test(s).
    [ RUN      ] crashes
    Segmentation fault
    FAIL base/test_b (exit 139)
    [==========] Running 1 test(s).
    [ RUN      ] adds_up
    [       OK ] adds_up
    ok   base/test_c 1 passed in 12 s
  OUTPUT

  def c_tally(text, outcome)
    output = TestRun::CSuite::Output.new("c (asan)", out: StringIO.new)
    text.each_line { |line| output.line(line) }
    output.tally(outcome)
  end

  # A checkout with just these test files.
  # @yieldparam root [String]
  def checkout_with(files)
    Dir.mktmpdir do |root|
      FileUtils.mkdir_p(%w[unit check slow integration].map { |name| "#{root}/test/#{name}" })
      FileUtils.cp_r(File.join(TestRun::ROOT, "test/support"), File.join(root, "test"))
      FileUtils.cp(File.join(TestRun::ROOT, "test/test_helper.rb"), File.join(root, "test"))
      files.each do |path, body|
        text = "require 'test_helper'\nclass Sample < Minitest::Test\n#{body}\nend\n"
        File.write(File.join(root, path), text)
      end
      yield root
    end
  end

  def run_in(files, *arguments)
    checkout_with(files) do |root|
      out = StringIO.new
      status = nil
      _, @errors = capture_subprocess_io do
        status = TestRun.new(arguments, root: root, out: out).run
      end
      [status, out.string.lines.map(&:chomp)]
    end
  end

  def test_cmocka_lines_are_counted_once_and_skips_keep_their_reason
    tally = c_tally(CMOCKA, :failed)
    assert_equal "2 passed, 2 failed, 1 skipped", tally.to_s
    assert_equal({ "c (asan) base/test_c" => 12.0 }, tally.seconds)
    assert_equal ["c (asan) base/test_a: breaks", "c (asan) base/test_b (exit 139)"], tally.failures
    assert_equal [["c (asan) needs_kqueue", "no kqueue on this system"]], tally.skips
  end

  def test_what_a_passing_test_prints_is_left_out_and_what_a_failing_or_dying_one_prints_is_shown
    out = StringIO.new
    output = TestRun::CSuite::Output.new("c (asan)", out: out)
    chatty = CMOCKA.sub("[       OK ] adds", "chatter\n[       OK ] adds")
    chatty.each_line { |line| output.line(line) }
    refute_match(/chatter/, out.string)
    [
      "no kqueue on this system", "--- 1 != 2", "Segmentation fault", "FAIL base/test_b"
    ].each { |text| assert_includes out.string, text }
  end

  def test_a_core_that_does_not_compile_is_a_failure
    assert_equal "0 passed, 1 failed, 0 skipped", c_tally("error: expected ';'\n", :failed).to_s
  end

  def test_a_c_run_that_hangs_is_a_failure
    assert_equal "1 passed, 1 failed, 0 skipped", c_tally("[       OK ] adds\n", :late).to_s
  end

  def test_the_last_line_counts_passes_failures_and_skips
    body = "def test_a = assert(true)\n def test_b = flunk\n def test_c = skip('no moon')"
    status, lines = run_in({ "test/unit/a_test.rb" => body })
    assert_equal 1, status
    assert_equal "1 passed, 1 failed, 1 skipped", lines.last
    assert_includes lines, "SKIPPED Sample#test_c: no moon"
    assert_includes lines, "FAILED  Sample#test_b"
  end

  UNSTABLE = "def test_a = File.exist?('seen') || (File.write('seen', '') and flunk)\n " \
             "def test_b = assert(true)"

  # @param outputs [Hash] what make prints, by its TEST
  def c_again(outputs)
    Dir.mktmpdir do |root|
      FileUtils.mkdir_p(File.join(root, "test/c/base"))
      outputs.each { |test, text| File.write(File.join(root, "test/c", "#{test}.out"), text) }
      rule = "check:\n\t@cat $(TEST).out; ! grep -q FAIL $(TEST).out\n"
      File.write(File.join(root, "test/c/Makefile"), rule)
      TestRun::CSuite.new(root, [], { again: true }, sanitizer: "asan").run(StringIO.new)
    end
  end

  def test_a_test_of_the_core_that_fails_runs_again_and_a_binary_that_dies_does_not
    breaks = "[ RUN      ] breaks\n[  FAILED  ] breaks\nFAIL base/test_a (exit 1)\n"
    passes = "[ RUN      ] breaks\n[       OK ] breaks\nok   base/test_a 1 passed in 0 s\n"
    tally = c_again("" => breaks, "base/test_a.c" => passes)
    assert_equal "1 passed, 0 failed, 0 skipped", tally.to_s
    assert_equal ["c (asan) base/test_a: breaks"], tally.unstable
    twice = c_again("" => breaks, "base/test_a.c" => breaks)
    assert_equal ["c (asan) base/test_a: breaks"], twice.failures
    leaks = c_again("" => "FAIL base/test_a (exit 97)\n", "base/test_a.c" => passes)
    assert_equal ["c (asan) base/test_a (exit 97)"], leaks.unstable
    races = c_again("" => "FAIL base/test_a (exit 66)\n", "base/test_a.c" => passes)
    assert_equal ["c (asan) base/test_a (exit 66)"], races.failures
    assert_equal 1, c_again("" => breaks, "base/test_a.c" => "").failed
  end

  def test_one_that_fails_runs_again_when_that_is_asked_for_and_is_named
    status, lines = run_in({ "test/unit/a_test.rb" => UNSTABLE })
    assert_equal [1, "1 passed, 1 failed, 0 skipped"], [status, lines.last]
    status, lines = run_in({ "test/unit/a_test.rb" => UNSTABLE }, "--again")
    assert_equal [0, "2 passed, 0 failed, 0 skipped"], [status, lines.last]
    assert(lines.any? { |line| line.start_with?("UNSTABLE Sample#test_a: failed") })
  end

  def test_one_that_fails_twice_has_failed_and_so_have_more_than_a_few
    body = "#{UNSTABLE}\n def test_c = flunk"
    status, lines = run_in({ "test/unit/a_test.rb" => body }, "--again")
    assert_equal [1, "2 passed, 1 failed, 0 skipped"], [status, lines.last]
    assert_includes lines, "FAILED  Sample#test_c"
    four = (1..4).map do |i|
      "def test_#{i} = File.exist?('seen#{i}') || (File.write('seen#{i}', '') and flunk)"
    end.join("\n")
    lines = run_in({ "test/unit/a_test.rb" => four }, "--again").last
    assert_equal "0 passed, 4 failed, 0 skipped", lines.last
  end

  def test_nothing_failed_means_status_0
    status, lines = run_in(
      {
        "test/unit/a_test.rb" => "def test_a = assert(true)",
        "test/check/b_test.rb" => "def test_b = assert(true)"
      }
    )
    assert_equal [0, "2 passed, 0 failed, 0 skipped"], [status, lines.last]
  end

  # Each waits for the other to have begun.
  def test_suites_run_beside_each_other_and_what_they_say_stays_in_one_piece
    meets = lambda do |mine, other|
      "def test_a\n File.write('#{mine}', '')\n sleep 0.01 until File.exist?('#{other}')\n " \
        "$stdout.puts '#{mine} one', '#{mine} two'\n end"
    end
    files = {
      "test/unit/a_test.rb" => meets.call("unit", "check"),
      "test/check/b_test.rb" => meets.call("check", "unit")
    }
    status, lines = run_in(files, "--jobs", "2")
    assert_equal [0, "2 passed, 0 failed, 0 skipped"], [status, lines.last]
    %w[unit check].each do |suite|
      piece = lines.drop_while { |line| line != "== #{suite}: 1 files" }
        .take_while { |line| !line.start_with?("== #{suite}: 1 passed") }
      assert_equal ["#{suite} one", "#{suite} two"], piece.grep(/ (one|two)\z/)
    end
  end

  def test_a_long_suite_runs_in_parts_and_each_of_its_files_once
    files = %w[a b c].to_h do |name|
      ["test/unit/#{name}_test.rb", "def test_#{name} = puts('ran #{name}')"]
    end
    status, lines = run_in(files, "--jobs", "2", "--times")
    assert_equal [0, "3 passed, 0 failed, 0 skipped"], [status, lines.last]
    assert_equal ["== unit 1 of 2: 2 files", "== unit 2 of 2: 1 files"], lines.grep(/files\z/).sort
    assert_equal ["ran a", "ran b", "ran c"], lines.filter_map { |line| line[/ran \w/] }.sort
    times = lines.drop_while { |line| line != "What took longest:" }
    assert_equal files.keys, times.filter_map { |line| line[%r{ s  (test/unit/.+)}, 1] }.sort
  end

  def test_suites_with_servers_run_over_what_is_asked_for_and_no_others
    Dir.mktmpdir do |root|
      %w[unit integration conformance].each do |suite|
        folder = File.join(root, "test", suite)
        FileUtils.mkdir_p(folder)
        File.write(File.join(folder, "a_test.rb"), "")
      end
      listed = StringIO.new
      TestRun.new(%w[--over tls --list], root: root, out: listed).run
      assert_equal %w[integration conformance].map { |suite| "test/#{suite}/a_test.rb" },
                   listed.string.lines(chomp: true)
    end
    body = "def test_a = assert_equal('h2', ENV.fetch('NB_TEST_OVER'))"
    status, lines = run_in({ "test/integration/a_test.rb" => body }, "--over", "h2")
    assert_equal [0, "1 passed, 0 failed, 0 skipped"], [status, lines.last]
  end

  def test_what_there_is_not_to_run_over_is_refused
    status, = run_in({}, "--over", "h3")
    assert_equal [1, "bin/test: --over takes plain, tls, h2, not \"h3\"\n"], [status, @errors]
  end

  def test_so_many_at_a_time_is_a_number
    [%w[--jobs 0], %w[--jobs two], %w[--jobs]].each do |arguments|
      assert_equal [1, ["0 passed, 1 failed, 0 skipped"]], run_in({}, *arguments)
      assert_match(/--jobs takes how many suites run at a time, 1 to 9, not /, @errors)
    end
  end

  def test_a_process_that_dies_is_a_failure
    status, lines = run_in({ "test/unit/a_test.rb" => "def test_a = exit!(0)" })
    assert_equal [1, "0 passed, 1 failed, 0 skipped"], [status, lines.last]
    assert_includes lines, "FAILED  unit: the test process died (exit 0) in Sample#test_a"
  end

  # A reader of continuous integration may see no more than the end of the log.
  def test_the_last_words_of_a_process_that_dies_are_repeated_at_the_end
    body = "def test_a\n warn 'chatter'\n Process.kill(:SEGV, $$)\n sleep\n end"
    _, lines = run_in({ "test/unit/a_test.rb" => body })
    end_of_log = lines.drop_while { |line| !line.start_with?("FAILED") }
    assert_match(
      /\AFAILED  unit: the test process died \(SIG(ABRT|SEGV)\) in Sample#test_a\z/, end_of_log[0]
    )
    assert_match(/\A    .*\[BUG\] Segmentation fault/, end_of_log[1])
    assert_match(/chatter.*\[BUG\]/m, @errors)
  end

  def test_a_process_that_ends_badly_after_its_tests_is_a_failure
    body = "def test_a = assert(true)\n Minitest.after_run { exit!(3) }"
    status, lines = run_in({ "test/unit/a_test.rb" => body })
    assert_equal [1, "1 passed, 1 failed, 0 skipped"], [status, lines.last]
  end

  def test_a_filter_is_a_part_of_a_path
    files = {
      "test/unit/a_test.rb" => "def test_a = assert(true)",
      "test/unit/b_test.rb" => "def test_b = flunk"
    }
    status, lines = run_in(files, "unit/a")
    assert_equal [0, "1 passed, 0 failed, 0 skipped"], [status, lines.last]
  end

  def test_a_filter_that_matches_nothing_is_an_error
    status, lines = run_in({ "test/unit/a_test.rb" => "def test_a = assert(true)" }, "nowhere")
    assert_equal [1, "0 passed, 1 failed, 0 skipped"], [status, lines.last]
    assert_match(/no test matches nowhere/, @errors)
  end

  def test_slow_tests_wait_to_be_asked_for
    files = {
      "test/unit/a_test.rb" => "def test_a = assert(true)",
      "test/slow/b_test.rb" => "def test_b = flunk"
    }
    assert_equal 0, run_in(files).first
    assert_equal 1, run_in(files, "--slow").first
  end

  def test_a_child_over_its_time_is_ended_with_its_group
    reader, writer = IO.pipe
    outcome = TestRun::Child.run(
      ["sh", "-c", "sleep 600 & wait"], env: { "NB" => "1" }, limit_s: 0.2
    ) { |line| writer.puts(line) }
    writer.close
    assert_equal :late, outcome
    assert_equal "", reader.read
  end

  # In a process of its own, as a run reads its environment once.
  def test_a_suite_that_would_pass_the_end_of_all_is_ended_and_says_so
    tests = "def self.test_order = :alpha\n def test_a = assert(true)\n " \
            "def test_b = flunk('why')\n def test_sleeps = sleep"
    checkout_with("test/unit/a_test.rb" => tests) do |root|
      script = "require 'test_run'; exit TestRun.new(['--jobs', '2'], root: #{root.inspect}).run"
      output = IO.popen({ "NB_TEST_ENDS_AT" => (Time.now.to_i + 3).to_s },
                        ["ruby", "-I#{TestRun::ROOT}/test/support", "-e", script],
                        err: %i[child out], &:read)
      # On a machine that takes as long to begin it.
      next if output.include?("its time was over in no test")

      assert_includes output, "unit: its time was over in Sample#test_sleeps"
      assert_match(/^why$/, output)
      assert_equal "1 passed, 2 failed, 0 skipped", output.lines.last.chomp
    end
  end
end
