# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/errors"
require "neverblock/check"

# A child that tells what it finds, however it ends.
class CheckRunTest < Minitest::Test
  Check = NeverBlock::Check

  def run_with(**options, &work)
    Check::Run.new(**options, &work).run
  end

  def found(tell, level = :note, seen = "a note")
    tell.call({ finding: Check::Finding.of(level, "x", seen, "do this").to_h })
  end

  def test_findings_come_worst_first_and_once
    run = run_with do |tell|
      tell.call({ facts: { ruby: "ruby 9", gems: 3 } })
      found(tell)
      found(tell)
      found(tell, :serious, "a bad thing")
      found(tell, :warning, "a lesser one")
      tell.call({ stage: nil })
    end
    assert_equal ["a bad thing", "a lesser one", "a note"], run.findings.map(&:seen)
    assert_equal [{ ruby: "ruby 9", gems: 3 }, true], [run.facts, run.serious?]
  end

  def test_text_of_any_encoding_comes_through
    run = run_with do |tell|
      found(tell, :note, "caf\xE9 \u20AC".b.force_encoding(Encoding::BINARY))
      tell.call({ stage: nil })
    end
    assert_equal "caf? \u20AC", run.findings.first.seen
  end

  def test_texts_of_several_encodings_come_through
    Dir.mktmpdir do |directory|
      folder = File.join(directory, "caf\u00E9".encode("ISO-8859-1"))
      run = run_with do |tell|
        tell.call({ facts: { lock: folder.dup.force_encoding("ISO-8859-1") } })
        tell.call({ stage: "loading \u20AC" })
        puts "caf\u00E9 \u20AC"
        raise "caf\u00E9".encode("ISO-8859-1")
      end
      assert_equal File.join(directory, "caf\u00E9"), run.facts[:lock]
      seen = run.findings.first.seen
      assert_match(/\ARuntimeError: caf\u00E9 at .* while loading \u20AC; /, seen)
      assert_match(/; its output: caf\u00E9 \u20AC\z/, seen)
    end
  end

  def test_long_texts_are_cut_and_many_findings_are_whole
    count = 100
    run = run_with do |tell|
      count.times { |number| found(tell, :note, "#{number} #{"\u20AC" * 100_000}") }
      tell.call({ stage: nil })
    end
    assert_equal count, run.findings.size
    assert_equal [Check::Run::TEXT_CHARACTERS], run.findings.map { |one| one.seen.size }.uniq
    assert(run.findings.all? { |one| one.seen.end_with?("\u20AC...") })
  end

  # What the work does => what is said of it.
  ENDINGS = {
    ->(_tell) { exit 3 } => /\Athe application ended the process \(exit 3 at .*\) while loading/,
    ->(_tell) { exit! 4 } => /\Athe application ended the process \(exit!\) while loading/,
    ->(_tell) { raise ArgumentError, "no such thing" } =>
      /\AArgumentError: no such thing at .* while loading/,
    ->(_tell) { Process.kill(:KILL, Process.pid) && sleep } =>
      /\Athe process was ended by SIGKILL while loading/,
    ->(_tell) { nil } => /\Athe application ended the process \(exit!\) while loading/
  }.freeze

  ENDINGS.each_with_index do |(work, pattern), number|
    define_method("test_an_ending_before_the_end_is_serious_and_what_was_found_stays_#{number}") do
      run = run_with do |tell|
        found(tell)
        tell.call({ stage: "loading" })
        work.call(tell)
      end
      assert_equal %i[serious note], run.findings.map(&:level)
      assert_match pattern, run.findings.first.seen
      assert_equal "application", run.findings.first.rule
    end
  end

  # The child of the application holds what the application's process held.
  ENDINGS.each_with_index do |(work, pattern), number|
    define_method("test_an_ending_is_noticed_while_a_child_of_the_application_goes_on_#{number}") do
      run = run_with(silence_s: 30) do |tell|
        tell.call({ stage: "loading" })
        fork { sleep }
        work.call(tell)
      end
      assert_match pattern, run.findings.first.seen
    end
  end

  def test_a_child_of_the_application_tells_nothing
    run = run_with do |tell|
      tell.call({ stage: "loading" })
      pid = fork
      if pid.nil?
        found(tell, :serious, "of the child's")
        exit 3
      end
      Process.wait(pid)
      found(tell, :note, "of its own")
      tell.call({ stage: nil })
    end
    assert_equal ["of its own"], run.findings.map(&:seen)
  end

  def test_an_error_whose_message_raises_is_told
    run = run_with { raise Class.new(StandardError) { def message = raise("none") } }
    assert_match(/: its message raised RuntimeError at .* while starting\z/,
                 run.findings.first.seen)
  end

  def test_what_it_wrote_last_is_shown_and_of_a_crash_the_first_line
    run = run_with do |_tell|
      puts "on standard output"
      warn "\e[31mon standard\nerror\e[0m"
      exit! 1
    end
    assert_match(/; its output: on standard output on standard error\z/, run.findings.first.seen)
    run = run_with do |_tell|
      maps = "7f3a9da4c000-7f3a9da56000 r--p /lib\n" * 100
      warn "x.rb:1: [BUG] Segmentation fault at 0x1\n#{maps}"
      exit! 1
    end
    assert_match(
      /; its output: x\.rb:1: \[BUG\] Segmentation fault at 0x1\z/, run.findings.first.seen
    )
  end

  def test_a_child_that_says_nothing_more_tells_where_it_is_and_is_ended
    run = run_with(silence_s: 0.2) do |tell|
      tell.call({ stage: "loading" })
      never_ready
    end
    assert_match(
      /\Athere was no progress for 0\.2 s at .*sleep.*never_ready.* while loading\z/,
      run.findings.first.seen
    )
  end

  def test_a_child_that_does_not_listen_is_ended_all_the_same
    run = run_with(silence_s: 0.2) do |tell|
      Signal.trap("USR2", "IGNORE")
      tell.call({ stage: "loading" })
      sleep
    end
    assert_match(/\Athere was no progress for 0\.2 s while loading\z/, run.findings.first.seen)
  end

  def test_blocks_of_at_exit_are_the_applications_and_do_not_run
    reader, writer = IO.pipe
    run_with do |tell|
      at_exit { writer.write("ran") }
      tell.call({ stage: nil })
    end
    writer.close
    assert_empty reader.read
  ensure
    [reader, writer].each(&:close)
  end

  def test_what_the_application_has_started_ends_with_it
    reader, writer = IO.pipe
    run_with do |tell|
      spawn("sleep", "1000", writer => writer)
      tell.call({ stage: nil })
    end
    writer.close
    assert_nil reader.read(1) # at the end: nobody holds the other end
  ensure
    [reader, writer].each(&:close)
  end

  private

  def never_ready
    sleep
  end
end
