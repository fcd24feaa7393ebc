# frozen_string_literal: true

# What Rails does with one process, it does behind two workers: hijacked connections, streams, jobs,
# files, fragments, reloading in development.

require_relative "../support/rails_case"

class RailsWorkersTest < RailsCase
  def self.env
    { "WEB_CONCURRENCY" => "2" }
  end

  def self.processes
    2
  end

  def test_both_workers_answer
    pids = []
    await("answers of two workers") do
      pids |= states.map { |state| state.fetch("pid") }
      pids.size == 2
    end
    refute_includes pids, server.pid
  end

  def test_routes_are_there_before_the_first_request
    state = json("/state")
    refute_equal state.fetch("pid"), state.fetch("drawn_in")
  end
end
