# frozen_string_literal: true

require_relative "../../../support/unit"
require "neverblock/tls/acme/back_off"

class AcmeBackOffTest < Minitest::Test
  BackOff = NeverBlock::TLS::Acme::BackOff
  NOW = Time.utc(2030)

  # The share of what is asked for.
  Draw = Struct.new(:share) do
    def rand(most) = most * share
  end

  def waits(share, count)
    back_off = BackOff.new(random: Draw.new(share))
    Array.new(count) { back_off.failed(NOW) - NOW }
  end

  def test_each_wait_is_twice_as_long_up_to_a_bound
    assert_equal [120, 240, 480, 960, 1_920, 3_600, 3_600], waits(0, 7)
  end

  def test_a_part_of_it_is_random
    assert_equal [150, 300, 600], waits(1, 3)
  end

  def test_five_tries_in_the_first_hour_at_most
    assert_equal 4, waits(0, 9).inject([0]) { |at, wait|
      at << (at.last + wait)
    }.drop(1).count { |at| at < 3_600 }
  end

  def test_the_acme_servers_time_is_the_first
    back_off = BackOff.new
    assert_equal NOW + 90_000, back_off.failed(NOW, NOW + 90_000)
    assert_operator back_off.failed(NOW, NOW + 1), :>, NOW + 100
  end

  def test_what_is_further_off_than_a_week_is_not_believed
    week = 7 * 86_400
    back_off = BackOff.new
    assert_equal NOW + week, back_off.failed(NOW, NOW + (9 * week))
    back_off.bound(NOW - week)
    assert_equal [NOW, NOW], back_off.state.to_a.last(2)
    back_off.bound(NOW)
    assert_equal NOW, back_off.at
    back_off.worked
    back_off.bound(NOW)
    assert_nil back_off.at
  end

  def test_success_begins_anew
    back_off = BackOff.new(random: Draw.new(0))
    3.times { back_off.failed(NOW) }
    back_off.worked
    assert_nil back_off.at
    assert_equal NOW + 120, back_off.failed(NOW)
  end

  def test_it_goes_on_with_what_was_kept
    one = BackOff.new(random: Draw.new(0))
    2.times { one.failed(NOW) }
    ahead = one.after_failure(NOW)
    assert_equal 240, one.at - NOW, "nothing has failed yet"
    other = BackOff.new(one.state, random: Draw.new(0))
    assert_equal one.at, other.at
    assert_equal NOW + 480, other.failed(NOW)
    assert_equal ahead, other.state
  end

  def test_who_is_in_a_hurry_waits_for_the_acme_server_alone
    back_off = BackOff.new
    back_off.hurry(NOW)
    assert_nil back_off.at, "nothing has failed"
    back_off.failed(NOW)
    back_off.hurry(NOW)
    assert_equal NOW, back_off.at
    back_off.failed(NOW, NOW + 600)
    back_off.hurry(NOW + 1)
    assert_equal NOW + 600, back_off.at
  end
end
