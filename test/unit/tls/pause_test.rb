# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/tls/pause"

class TLSPauseTest < Minitest::Test
  LONG_S = 3_600

  def setup
    @pause = NeverBlock::TLS::Pause.new
  end

  def test_it_is_over_after_its_time
    assert_equal :over, @pause.wait(0)
    assert_equal :over, @pause.wait(0.001, whole: true)
  end

  def test_being_asked_ends_one_wait_also_beforehand
    @pause.ask
    assert_equal :asked, @pause.wait(LONG_S)
    assert_equal :over, @pause.wait(0)
    waits = Thread.new { @pause.wait(LONG_S) }
    Thread.pass until waits.stop?
    @pause.ask
    assert_equal :asked, waits.value
  end

  def test_a_whole_wait_leaves_the_question_to_the_next
    @pause.ask
    assert_equal :over, @pause.wait(0.001, whole: true)
    assert_equal :asked, @pause.wait(LONG_S)
  end

  def test_closing_ends_every_wait
    waits = Thread.new { @pause.wait(LONG_S, whole: true) }
    Thread.pass until waits.stop?
    @pause.close
    assert_nil waits.value
    @pause.ask
    assert_nil @pause.wait(LONG_S)
  end
end
