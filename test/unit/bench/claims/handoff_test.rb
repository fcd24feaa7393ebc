# frozen_string_literal: true

require_relative "../bench_case"

class BenchHandoffTest < BenchCase
  LEASE = "neverblock"
  THREADS = "neverblock two-threads"

  def setup
    @claim = Catalog.new.find("handoff")
  end

  def test_the_lease_must_cost_no_more_than_two_threads_and_answer_sooner
    assert_equal %i[met met met], statuses(cpu: 9.0, p50: 30)
    assert_equal %i[missed met met], statuses(cpu: 9.1, p50: 30)
    assert_equal %i[met missed met], statuses(cpu: 9.0, p50: 50)
    assert_equal %i[met met missed], statuses(cpu: 9.0, p50: 30, errors: 1)
  end

  def test_the_servers_are_the_same_but_for_the_threads
    lease, threads, = Servers.named(@claim.servers)
    commands = [lease, threads].map do |server|
      server.launch(port: 1, app: "a.ru", directory: "/").command
    end
    assert_equal 1, (commands[0] - commands[1]).size
    assert_match(%r{benchmark/apps/two_threads\.rb\z}, (commands[1] - commands[0]).fetch(0))
  end

  private

  def statuses(**own)
    runs = runs_of(LEASE, **own) + runs_of(THREADS, cpu: 9.0, p50: 50)
    @claim.verdicts(Results.new(runs, servers: [LEASE, THREADS])).map(&:status)
  end

  def runs_of(server, cpu:, p50:, errors: 0)
    [run_of(server, scenario: "64 clients", cpu_us_per_request: cpu),
     run_of(server, scenario: "1 client", p50_us: p50, error_count: errors)]
  end
end
