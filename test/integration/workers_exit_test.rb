# frozen_string_literal: true

# What an application does at the exit of its workers: it has the time that requests have.

require_relative "../support/workers_case"

class WorkersExitTest < WorkersCase
  # Seconds that there are in any case: none, so that they are over in every test.
  LEAST = <<~RUBY
    require "neverblock/cluster/exit_time"
    NeverBlock::Cluster::ExitTime.send(:remove_const, :LEAST_S)
    NeverBlock::Cluster::ExitTime::LEAST_S = 0
  RUBY

  def test_a_job_in_progress_ends_before_a_stop_does
    with_jobs do |server, gate|
      Process.kill("TERM", server.pid)
      jobs = Array.new(2) { gate.arrival }
      assert_nil server.wait(0.1), "it waits for them"
      jobs.each(&:close)

      assert_equal 0, server.wait(Patience::SECONDS)&.exitstatus
      assert_equal 2, server.stderr.scan(/job done/).size
      refute_match(/took longer/, server.stderr)
    end
  end

  def test_a_job_of_a_replaced_worker_ends_while_the_new_one_serves
    with_jobs do |server, gate|
      old = processes(server, "worker")
      Process.kill("HUP", server.pid)
      jobs = Array.new(2) { gate.arrival }
      refute_includes old, pid_from(server)
      refute(old.any? { |pid| gone?(pid) })
      jobs.each(&:close)
      old.each { |pid| await("#{pid} to be gone", server) { gone?(pid) } }

      assert_equal 2, server.stderr.scan(/job done/).size
      server.kill
    end
  end

  def test_a_second_signal_ends_the_processes_soon
    with_jobs do |server, gate|
      workers = processes(server, "worker")
      Process.kill("TERM", server.pid)
      2.times { gate.arrival }
      Process.kill("INT", server.pid)

      assert_equal 1, server.wait(Patience::SECONDS)&.exitstatus
      workers.each { |pid| await("#{pid} to be gone") { gone?(pid) } }
      refute_match(/job done/, server.stderr)
    end
  end

  def test_a_limit_that_is_over_is_named
    limit = "timeouts { retire 0.001; shutdown 600 }"
    with_jobs(limit) do |server, _gate|
      old = processes(server, "worker 0 ").first
      Process.kill("TERM", old)
      late = /at_exit blocks of the application took longer than \S+ s/
      server.await_stderr(/worker 0: #{late}: .*; timeouts \{ retire \} is their limit: raise it/)
      await("the old one to be gone", server) { gone?(old) }
      server.kill
    end
  end

  private

  # Each worker waits at the gate when it exits, then tells that it is done.
  def with_jobs(settings = "timeouts { shutdown 600 }")
    Dir.mktmpdir do |folder|
      file = File.join(folder, "neverblock.rb")
      File.write(file, LEAST + settings)
      Gate.open do |gate|
        app = "require 'socket'\n" \
              "at_exit { #{gate.wait_expression}; $stderr.puts 'job done' }\n#{HELLO}"
        serve(app, options: ["-C", file]) do |server|
          yield server, gate
        ensure
          server.kill if server.running?
        end
      end
    end
  end
end
