# frozen_string_literal: true

require_relative "scheduler_harness"

# Whether a connection was cut (NeverBlock::Sockets).
module CutSockets
  # Nothing of the answer is there, and nothing more can be asked.
  def assert_cut(client, server)
    assert_nil client.read_nonblock(100, exception: false)
    assert_raises(Errno::EPIPE) { client.write("asked") }
    Timeout.timeout(SchedulerHarness::SECONDS) { assert_predicate server.tap(&:read), :eof? }
  rescue Errno::ECONNRESET
    assert true # of what it had not read
  end
end
