# frozen_string_literal: true

require_relative "bench_case"

class BenchProgramHostTest < BenchCase
  Candidate = Struct.new(:command)
  Asked = Struct.new(:prepared) do
    def prepare
      self.prepared += 1
    end
  end

  # Starts `sleep` in the place of a server.
  class Starter
    attr_reader :calls

    def initialize(pid)
      @pid = pid
      @calls = []
    end

    def run(server, app:, path:)
      @calls << [server, app, path]
      yield Struct.new(:pid).new(@pid)
    end
  end

  def test_without_a_server_the_program_is_all_there_is
    run = ProgramHost.new.run(Candidate.new(%w[ruby]), app: "a.ru", path: "/") { |given| given }
    assert_equal [%w[ruby], nil, nil], [run.command, run.server, run.yjit]
  end

  def test_each_run_asks_a_fresh_server_of_the_claim_which_is_prepared_once
    pid = Process.spawn("sleep", "60")
    asked = Asked.new(0)
    starter = Starter.new(pid)
    host = ProgramHost.new(asked, starter: starter)
    seen = Array.new(2) do
      host.run(Candidate.new([]), app: "a.ru", path: "/0") { |run| run.server.pid }
    end
    assert_equal [pid, pid], seen
    assert_equal [[asked, "a.ru", "/0"]] * 2, starter.calls
    assert_equal 1, asked.prepared
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end
end
