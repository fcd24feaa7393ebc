# frozen_string_literal: true

require_relative "bench_case"

class BenchRotationTest < BenchCase
  def test_each_round_starts_one_server_further_on
    orders = (1..4).map { |round| Rotation.order(%w[a b c], round).join }
    assert_equal %w[abc bca cab abc], orders
  end

  def test_after_as_many_rounds_as_servers_each_has_had_every_place
    servers = %w[a b c d]
    orders = (1..4).map { |round| Rotation.order(servers, round) }
    orders.transpose.each { |place| assert_equal servers, place.sort }
  end
end
