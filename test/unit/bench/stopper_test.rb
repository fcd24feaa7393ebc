# frozen_string_literal: true

require_relative "bench_case"

# A real process is stopped; how long is up to the machine.
class BenchStopperTest < BenchCase
  # Its workers are there so many times.
  Tree = Struct.new(:pid, :times) do
    def leaves
      (self.times -= 1).negative? ? [] : [pid]
    end
  end

  def setup
    @pid = Process.spawn("sleep", "600")
  end

  def teardown
    Process.kill(:KILL, @pid)
    Process.wait(@pid)
  end

  def test_a_worker_is_stopped_for_a_while_and_goes_on
    value, stops = stopper(1).during(0.01) do
      await { state == "T" }
      await { state == "S" }
      :value
    end
    assert_equal :value, value
    assert_equal 1, stops.size
    assert_operator stops.first.length, :>=, Stopper::STOP_SECONDS
    assert_equal "S", state
  end

  def test_one_that_is_stopped_when_the_load_ends_goes_on_at_once
    _, stops = stopper(1).during(0.01) { await { state == "T" } }
    assert_equal 1, stops.size
    refute_equal "T", state
    await { state == "S" }
  end

  def test_without_an_interval_and_without_workers_nobody_is_stopped
    assert_equal [:value, []], stopper(1).during(nil) { :value }
    assert_equal [:value, []], stopper(0).during(0.001) { :value }
  end

  private

  def stopper(times)
    Stopper.new(Tree.new(@pid, times), Random.new(1))
  end

  def state
    File.read("/proc/#{@pid}/stat")[/\) (\S)/, 1]
  end

  def await
    Timeout.timeout(60) { sleep(0.001) until yield }
  end
end
