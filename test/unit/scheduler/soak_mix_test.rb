# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/scheduler_soak"

# Tests 20,000 waits of every kind with random cancels, timeouts, closes and forks.
# test/slow/scheduler_soak_test.rb runs a hundred times as many.
class SchedulerSoakMixTest < Minitest::Test
  WAITS = 20_000
  FIBERS = 200

  def test_every_wait_of_a_mixture_ends_once_and_leaves_nothing
    seed = Integer(ENV.fetch("NB_SOAK_SEED", (Random.new_seed % 1_000_000).to_s), 10)
    figures, said, status = SchedulerSoak.spawn(waits: WAITS, seed: seed, fibers: FIBERS)
    where = "NB_SOAK_SEED=#{seed}\n#{said}"
    assert_equal [[], ""], [figures["failures"], said], where
    assert_predicate status, :success?, where
    assert_operator figures["waits"], :>=, WAITS
    assert_equal SchedulerSoak::Waits::BOOKED, figures["kinds"].keys.map(&:to_sym).sort, where
  end
end
