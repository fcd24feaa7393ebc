# frozen_string_literal: true

# Twenty megabytes to readers that take their time: all bytes, in bounded memory, and nobody else
# waits.

require_relative "../support/server_process_case"

class RackLargeResponsesTest < ServerProcessCase
  BYTES = 320 * 65_536
  CLIENTS = 8
  STEP_BYTES = 1 << 18

  # Opens several slow readers, each with a small receive buffer.
  def slow_readers(target)
    clients = Array.new(CLIENTS) { Wire::Client.new(server.url, receive_buffer_bytes: 16_384) }
    clients.each { |client| client.get(target) }
    clients.each { |client| assert_match(/ 200 /, client.take_line) }
    yield clients
  ensure
    clients&.each(&:close)
  end

  # In turns, a little each, so that a server that runs ahead of its readers holds what they have
  # not read.
  def read_in_turns(clients)
    totals = Hash.new(0)
    until totals.size == CLIENTS && totals.values.all? { |total| total >= BYTES }
      clients.each do |client|
        left = BYTES - totals[client]
        totals[client] += client.take([STEP_BYTES, left].min).bytesize if left.positive?
      end
      assert_equal 200, ask("/").status
    end
    totals
  end

  def test_a_body_by_each_waits_for_its_readers
    ask("/big_each?tag=#{new_tag}")
    before = server.resident_bytes
    slow_readers("/big_each?tag=#{new_tag}") { |clients| read_in_turns(clients) }
    assert_operator server.resident_peak_bytes - before, :<, 48 << 20 if neverblock?
  end

  def test_arrays_are_held_once
    tag = new_tag
    response = ask("/big_array?tag=#{tag}")
    assert_equal [:length, BYTES], [response.framing, response.body.bytesize]
    assert_equal "0123456789abcdef" * 4096, response.body.byteslice(-65_536, 65_536)
    before = server.resident_bytes
    connect(receive_buffer_bytes: 16_384) do |client|
      client.get("/big_array?tag=#{tag}")
      assert_match(/ 200 /, client.take_line)
      20.times { client.take(1 << 20) }
    end
    assert_operator server.resident_peak_bytes - before, :<, 64 << 20 if neverblock?
  end

  def test_a_chunked_body_of_twenty_megabytes_is_right_to_the_byte
    tag = new_tag
    response = ask("/big_each?tag=#{tag}")
    assert_equal [:chunked, BYTES], [response.framing, response.body.bytesize]
    assert_equal "0123456789abcdef" * (BYTES / 16), response.body
    events.await("close", tag)
  end
end
