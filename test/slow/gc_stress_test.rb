# frozen_string_literal: true

require_relative "../support/unit"
require_relative "workload"

# Every exchange of the workload while the server collects at every allocation, or moves objects.
class GCStressTest < Minitest::Test
  { "stress" => 1, "between" => 3, "compact" => 1 }.each do |mode, times|
    define_method("test_every_exchange_with_gc_#{mode}") do
      skip "this Ruby cannot compact" if mode != "stress" && !GC.respond_to?(:compact)
      run_all(mode, times)
    end
  end

  private

  def run_all(mode, times)
    rng = Random.new(7)
    server = Workload::Process.new(env: { "NB_WORKLOAD_GC" => mode })
    (Workload::NAMES * times).each do |name|
      Workload.exchange(server.url, name, rng, deadline_s: 60)
    end
    status = server.stop
    assert_predicate status, :success?, server.log
    refute_match(/BUG|try to mark|should not happen/, server.log)
  end
end
