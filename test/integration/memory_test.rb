# frozen_string_literal: true

# What a connection costs while it does nothing, and where the memory of a burst goes.

require_relative "../support/server_process_case"

class MemoryTest < ServerProcessCase
  CROWD = 600
  # Of a head that is not complete: three pages of its buffer.
  HALF_BYTES = 12_000
  # A connection that came between two buffers keeps a page.
  IDLE_BYTES_MAX = 4_096
  # What else moves: a page of the heap here and there.
  ELSE_BYTES = 1_000_000

  # A machine that stands still must not end them.
  def self.server_options
    { settings: { header_timeout_ms: 300_000, idle_timeout_ms: 300_000, answer_asterisk: 1 } }
  end

  def setup
    skip "the process table is Linux's" unless File.exist?("/proc/self/status")
  end

  # The C side alone answers OPTIONS * here, so that Ruby's heap, which keeps what it has had, is
  # left out. What connections that stay held lies between what they keep: it comes back only when
  # it is asked for.
  def test_memory_of_a_burst_of_half_requests_goes_back_while_its_connections_stay
    only_over :plain, "a connection over TLS keeps what OpenSSL has of it"
    ask("/")
    before = server.resident_bytes
    clients = Array.new(CROWD) do
      Wire::Client.new(server.url).tap do |client|
        client.write("OPTIONS * HTTP/1.1\r\nHost: test\r\nX-Long: #{"x" * HALF_BYTES}")
      end
    end
    await("the heads have arrived") { server.resident_bytes > before + (CROWD * HALF_BYTES) }
    clients.each { |client| client.write("\r\n\r\n") }
    assert_equal({ 200 => CROWD },
                 clients.map { |client| client.response(method: "OPTIONS").status }.tally)
    await("the memory is given back") do
      server.resident_bytes < before + (CROWD * IDLE_BYTES_MAX) + ELSE_BYTES
    end
    clients.each { |client| client.write("OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n") }
    assert_equal({ 200 => CROWD },
                 clients.map { |client| client.response(method: "OPTIONS").status }.tally)
  ensure
    clients&.each(&:close)
  end

  private

  def await(what, &)
    Patience.await(what, &)
  end
end
