# frozen_string_literal: true

# The table is worth what its rows can show: each way a row can be untrue is played here, and found.

require "test_helper"
require "hooks/support/hook_table"
require "hooks/support/isolation"

class HookFrameworkTest < Minitest::Test
  def row(title = "Sample#wait", **options, &body)
    HookTable::Row.new("Sample", title, nil, file: __FILE__, body: body, **options)
  end

  # The bound of what never ends or never yields is short.
  SOON_S = 0.5

  def played(patience_s: 60, end_s: 60, **options, &body)
    HookTable::Isolation.play(row(**options, &body), patience_s: patience_s, end_s: end_s)
  end

  def assert_fails(reason, played)
    assert_equal "failed", played["verdict"]
    assert_match reason, played["detail"]
  end

  def test_a_wait_that_lets_others_run_yields
    result = played do
      reader, writer = IO.pipe
      inside { reader.read(2) }
      event { writer << "a" }
      event { writer << "b" }
      gives "ab"
    end
    assert_equal "yields", result["verdict"], result["detail"]
  end

  def test_a_wait_that_holds_the_thread_blocks_and_is_ended_by_the_watchdog
    result = played(patience_s: SOON_S) do
      reader, writer = IO.pipe
      inside { NeverBlock::Compat.blocking { reader.read(2) } }
      event { writer << "a" }
      event { writer << "b" }
      gives "ab"
    end
    assert_equal({ "verdict" => "blocks", "locked" => false }, result)
  end

  def test_a_wait_with_rubys_lock_held_is_told_from_one_without
    result = played do
      numbers = Array.new(2_000_000) { rand }
      inside { numbers.sort && nil } # no wait, but nobody else gets to run
      elapses
    end
    assert_equal({ "verdict" => "blocks", "locked" => true }, result)
  end

  def test_a_call_that_yields_first_and_blocks_then_blocks
    result = played(patience_s: SOON_S) do
      reader, writer = IO.pipe
      inside { reader.read(1) + NeverBlock::Compat.blocking { reader.read(1) } }
      event { writer << "a" }
      event { writer << "b" }
      gives "ab"
    end
    assert_equal "blocks", result["verdict"], result["detail"]
  end

  def test_a_call_that_does_not_wait_fails
    result = played do
      inside { 1 }
      event { nil }
      gives 1
    end
    assert_fails(/never waited: it gave 1 before the event/, result)
  end

  def test_a_call_whose_second_part_does_not_wait_fails
    result = played do
      reader, writer = IO.pipe
      inside { reader.read(1) }
      event { writer << "ab" }
      event { nil }
    end
    assert_fails(/never waited/, result)
  end

  def test_a_wait_of_its_own_clock_yields_or_blocks
    sample = row do
      inside { sleep(0.1) && :done }
      elapses
      gives :done
    end
    yields = HookTable::Isolation.prove(sample)
    blocks = played do
      inside { NeverBlock::Compat.blocking { sleep(0.1) } && :done }
      elapses
      gives :done
    end
    assert_equal %w[yields blocks], [yields, blocks].map { |result| result["verdict"] }
  end

  def test_a_wrong_result_fails
    result = played do
      reader, writer = IO.pipe
      inside { reader.read(1) }
      event { writer << "b" }
      gives "a"
    end
    assert_fails(/gave "b", not "a"/, result)
  end

  def test_a_wrong_result_of_a_call_that_blocks_fails
    result = played(patience_s: SOON_S, blocks: "io.c") do
      reader, writer = IO.pipe
      inside { NeverBlock::Compat.blocking { reader.read(1) } }
      event { writer << "b" }
      gives { |text| text == "a" }
    end
    assert_fails(/gave "b"/, result)
  end

  def test_an_exception_that_was_not_expected_fails_and_so_does_a_missing_one
    raised = played do
      reader, writer = IO.pipe
      inside { raise(KeyError, "lost") if reader.read(1) }
      event { writer << "b" }
    end
    missing = played do
      reader, writer = IO.pipe
      inside { reader.read(1) }
      event { writer << "b" }
      raises KeyError
    end
    assert_fails(/raised KeyError: lost/, raised)
    assert_fails(/gave "b", not KeyError/, missing)
  end

  def test_a_wait_that_never_ends_fails
    result = played(end_s: SOON_S) do
      reader, @writer = IO.pipe
      inside { reader.read(1) }
      event { nil }
    end
    assert_fails(/the wait never ended \(inside\)/, result)
  end

  def test_a_thread_that_stays_blocked_fails
    result = played(patience_s: SOON_S, end_s: SOON_S) do
      reader, @writer = IO.pipe
      inside { NeverBlock::Compat.blocking { reader.read(1) } }
      event { nil }
    end
    assert_fails(/the thread was blocked and never ended/, result)
  end

  def test_a_loop_that_ends_early_fails
    result = played(end_s: SOON_S) do
      reader, writer = IO.pipe
      inside { reader.read(1) }
      event { (writer << "b") && @loop_thread.kill }
    end
    assert_fails(/the loop did not go on|never ended/, result)
  end

  def test_a_row_that_kills_its_process_fails_and_leaves_the_others_alone
    result = played do
      inside { Process.kill("KILL", Process.pid) }
      event { nil }
    end
    assert_fails(/ended without an answer/, result)
  end

  def test_a_row_without_a_call_or_without_an_event_fails
    assert_fails(/needs inside/, played { inside { nil } })
    assert_fails(/needs inside/, played { event { nil } })
  end

  def test_a_mistake_in_an_event_fails
    result = played(end_s: SOON_S) do
      reader, @writer = IO.pipe
      inside { reader.read(1) }
      event { nowhere }
    end
    assert_fails(/nowhere/, result)
  end

  def test_what_cannot_be_played_here_says_why
    assert_equal({ "verdict" => "unavailable", "detail" => "no moon" },
                 played { unavailable "no moon" })
  end

  def test_blocking_needs_an_excuse_and_an_excuse_needs_blocking
    plain = row { nil }
    excused = row(blocks: "io.c") { nil }
    assert_match(/stopped the loop/, HookTable.objection(plain, { "verdict" => "blocks" }))
    assert_match(/and does not/, HookTable.objection(excused, { "verdict" => "yields" }))
    assert_nil HookTable.objection(excused, { "verdict" => "blocks" })
    assert_nil HookTable.objection(plain, { "verdict" => "yields" })
    failed = { "verdict" => "failed", "detail" => "lost" }
    assert_match(/lost/, HookTable.objection(excused, failed))
  end

  def test_an_excuse_without_a_reference_and_a_cure_without_a_file_are_refused
    assert_raises(ArgumentError) { row(blocks: "it is hard") { nil } }
    assert_raises(ArgumentError) { row(cured: { ">= 0" => "prayer" }) { nil } }
  end

  def test_an_excuse_holds_for_the_rubies_it_names
    excuses = { "< 3.2" => "Bug #1", ">= 3.4, < 4.0" => "Bug #2" }
    sample = row(blocks: excuses, since: "3.1", until: "4.0") { nil }
    assert_equal ["Bug #1", nil, "Bug #2"],
                 %w[3.1.2 3.3.8 3.4.11].map { |ruby| sample.excuse(ruby) }
    assert_equal [false, true, true, false],
                 %w[3.0.9 3.1.0 3.4.11 4.0.0].map { |ruby| sample.present?(ruby) }
  end
end
