# frozen_string_literal: true

require_relative "bench_case"

class BenchPortTest < BenchCase
  def test_the_port_is_free_and_outside_the_range_that_clients_take
    port = Port.free
    assert_includes Port::RANGE, port
    TCPServer.new("127.0.0.1", port).close
    range = "/proc/sys/net/ipv4/ip_local_port_range"
    lowest = File.read(range).to_i if File.exist?(range)
    assert_operator port, :<, lowest || 32_768
  end

  def test_a_port_in_use_is_passed_over
    taken = Port.free
    server = TCPServer.new("127.0.0.1", taken)
    candidates = [taken, taken, taken + 1]
    Port.stub(:rand, ->(_range) { candidates.shift }) do
      assert_equal taken + 1, Port.free
    end
  ensure
    server&.close
  end
end
