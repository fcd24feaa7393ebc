# frozen_string_literal: true

# Tests a server whose clients use all descriptors that this machine gives one process (ulimit -n).
# The clients are several processes at several addresses.
# The end of the run reports how long after they had left the next client was served, and the memory
# before, then, and afterwards.

require_relative "../support/exhaustion"

class AllDescriptorsTest < Minitest::Test
  include Exhaustion

  DESCRIPTORS = [Process.getrlimit(:NOFILE).last, 20_000].min
  RECOVERY_S = 1.0
  ROUNDS_MAX = 3 # a machine that others use may stand still in one
  MEMORY_SLACK_BYTES = 48 << 20

  WAYS = { "one process" => [], "two workers" => %w[-w 2],
           "two I/O threads" => %w[--io-threads 2] }.freeze

  WAYS.each do |way, options|
    define_method("test_all_descriptors_in_use_with #{way}") do
      exhaust(DESCRIPTORS, options: options) do |server|
        server.await_service
        before = server.server.resident_bytes
        recovery_s = nil
        ROUNDS_MAX.times { (recovery_s = round(server)) <= RECOVERY_S and break }
        report(way, recovery_s, server.server, before)
        assert_operator recovery_s, :<=, RECOVERY_S, "seconds until somebody was served again"
        Patience.await("the memory to come back", -> { server.server.resident_bytes }) do
          server.server.resident_bytes < before + MEMORY_SLACK_BYTES
        end
        assert_equal "file 7", server.ask("/7.txt").body
      end
    end
  end

  private

  # @return [Float] seconds from when all had left until a newcomer was served
  def round(server)
    server.crowd_in("bodies", 0.05)
    server.crowd_in("downloads", 0.1, processes: 2)
    server.crowd_in("heads", 0.25, processes: 4)
    assert_operator server.connections["open"], :>, DESCRIPTORS * 0.9
    assert_equal [503, [200, "ok\n"]], [server.ask("/hello").status, server.admin("/health")]
    server.go_on
    assert_equal [200, "ok\n"], server.admin("/health")
    server.leave
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    server.await_service
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end

  def report(way, recovery_s, process, before)
    peak, now = [process.resident_peak_bytes, process.resident_bytes].map { |bytes| bytes >> 20 }
    warn format("%s: served again after %.3f s; memory %d MB before, %d MB at most, %d MB after",
                way, recovery_s, before >> 20, peak, now)
  end
end
