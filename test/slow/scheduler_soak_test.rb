# frozen_string_literal: true

require_relative "../support/unit"
require_relative "../support/scheduler_soak"

# Tests two million waits of every kind over several hundred fibers in two loops, with random
# cancels, timeouts, closes and forks. It takes about four minutes.
# NB_SOAK_WAITS, NB_SOAK_FIBERS and NB_SOAK_SEED change the run.
class SchedulerSoakTest < Minitest::Test
  WAITS = Integer(ENV.fetch("NB_SOAK_WAITS", "2_000_000"))
  FIBERS = Integer(ENV.fetch("NB_SOAK_FIBERS", "400"))
  SEED = Integer(ENV.fetch("NB_SOAK_SEED", (Random.new_seed % 1_000_000).to_s), 10)

  def test_no_wake_is_lost_and_nothing_grows
    puts "seed #{SEED}, #{WAITS} waits, #{FIBERS} fibers"
    figures, said, status = SchedulerSoak.spawn(waits: WAITS, seed: SEED, fibers: FIBERS)
    puts figures.except("kinds"), figures["kinds"]
    assert_equal [[], ""], [figures["failures"], said]
    assert_predicate status, :success?
    assert_operator figures["waits"], :>=, WAITS
  end
end
