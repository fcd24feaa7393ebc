# frozen_string_literal: true

# Where calls of wasmtime run. test/gems/callbacks_test.rb does it with the gem.

require_relative "../../support/unit"
require "neverblock"

class WasmtimeCompatTest < Minitest::Test
  WASMTIME = NeverBlock::Compat::Wasmtime

  def test_a_call_beside_one_that_is_parked_runs_on_a_plain_thread_and_others_here
    NB.run do
      here = Thread.current
      gate = Queue.new
      seen = NB.all(
        -> { WASMTIME.enter { gate.pop && thread_of_nested } },
        -> { WASMTIME.enter { native_thread }.tap { gate << true } }
      )
      assert_equal here.native_thread_id, seen.first
      refute_equal(*seen)
      assert_equal seen.first, WASMTIME.enter { native_thread }
    end
  end

  def test_an_error_leaves_nobody_inside
    NB.run do
      assert_raises(KeyError) { WASMTIME.enter { raise KeyError } }
      inside = native_thread
      assert_equal [inside] * 2, NB.all(*[-> { WASMTIME.enter { native_thread } }] * 2)
    end
  end

  def test_outside_of_the_loop_it_is_only_called
    assert_equal native_thread, WASMTIME.enter { native_thread }
  end

  private

  def native_thread = Thread.current.native_thread_id

  # A function of the host may call again.
  def thread_of_nested = WASMTIME.enter { native_thread }
end
