# frozen_string_literal: true

require_relative "bench_case"

class BenchChildTest < BenchCase
  def test_all_that_a_program_prints_is_given_and_its_cpu_time_counted
    before = Child.cpu_seconds
    script = "echo out; echo err >&2; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    text = Child.capture(["sh", "-c", script], limit_seconds: 120)
    assert_equal %W[err\n out\n], text.lines.sort
    assert_operator Child.cpu_seconds, :>, before
  end

  def test_each_line_is_told_as_it_comes
    told = []
    Dir.mktmpdir do |directory|
      File.mkfifo(File.join(directory, "go"))
      command = ["sh", "-c", "echo one; cat go; echo two"]
      text = Child.capture(command, limit_seconds: 120, chdir: directory) do |line|
        # The program cannot end before it has told its first line.
        File.write(File.join(directory, "go"), "go\n") if told.empty?
        told << line
      end
      assert_equal [%W[one\n go\n two\n], "one\ngo\ntwo\n"], [told, text]
    end
  end

  def test_a_program_reads_what_it_is_given_and_nothing_without
    assert_equal "a line\n", Child.capture(["cat"], limit_seconds: 120, input: "a line\n")
    assert_equal "", Child.capture(["cat"], limit_seconds: 120)
  end

  def test_a_program_that_does_not_end_is_killed_at_its_limit
    seconds = 0.25 # on a busy machine it has not begun by then
    text = ""
    while text.empty?
      text = Child.capture(["sh", "-c", "echo begun; exec sleep 600"], limit_seconds: seconds *= 2)
    end
    assert_equal "begun\n", text
  end

  def test_a_program_that_is_not_there_is_an_error_and_leaves_nothing_open
    open_before = Dir.children("/proc/self/fd").size
    assert_raises(Errno::ENOENT) { Child.capture(["neverblock-no-such-program"], limit_seconds: 1) }
    # There may be fewer: the collector may have closed what other tests left open.
    assert_operator Dir.children("/proc/self/fd").size, :<=, open_before
  end
end
