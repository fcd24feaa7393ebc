# frozen_string_literal: true

# The same application in production, preloaded and forked into two workers. What the settings file
# and the environment files of Rails say about the server. A prompt of irb in one request.

require "json"
require "minitest/autorun"
require "securerandom"
require_relative "../support/gate"
require_relative "../support/http_client"
require_relative "../support/rails_application"

class RailsProductionTest < Minitest::Test
  NEVERBLOCK = [
    RbConfig.ruby, "-rbundler/setup", File.join(ServerProcess::ROOT, "exe/neverblock")
  ].freeze

  def test_workers_share_a_preloaded_application_and_a_reload_brings_a_new_one
    bind = Over.bind("http://127.0.0.1:0")
    settings = "bind #{bind.inspect}\nworkers 2\nenvironment \"production\"\n"
    write = {
      "config/neverblock.rb" => settings,
      "config/initializers/ssl.rb" => "Rails.application.config.force_ssl = false\n"
    }
    env = { "DATABASE_URL" => "sqlite3:storage/production.sqlite3" }
    serve(*NEVERBLOCK, write: write, env: env) do
      state = json("/state")
      assert_equal %w[production fiber fiber], state.values_at("env", "level", "initializers")
      assert state["loaded"], "production loads everything at the start"
      pids = both_workers
      assert_equal 2, pids.size
      texts = Array.new(6) { SecureRandom.hex }
      # The async adapter's threads are each worker's own.
      texts.each { |text| assert_equal "202", response("/job?text=#{text}").code }
      await("the jobs' records") { texts.all? { |text| json("/records?text=#{text}") == 1 } }

      File.write(@server.in_directory("app/models/greeting.rb"),
                 "class Greeting\n  TEXT = 'reloaded'\nend\n")
      assert_equal "first", json("/greeting").fetch("text")
      Process.kill("HUP", @server.pid)
      await("the new version") { json("/greeting").fetch("text") == "reloaded" }
      assert_empty both_workers & pids
    end
  end

  # Each is a line of an application of 2008, or of today, that says more than ours: one start for
  # all of it.
  def test_rails_server_reads_the_settings_file_beside_its_own_options
    write = {
      "config/neverblock.rb" => "fibers 77\nbind #{Over.bind("http://127.0.0.1:0").inspect}\n",
      "config/environments/test.rb" => <<~RUBY
        require "never_block/server/thin"
        Rails.application.configure { config.active_support.isolation_level = :thread }
      RUBY
    }
    command = %w[bin/rails server -e test -P tmp/its.pid]
    serve(*command, write: write, env: { "PORT" => nil }) do
      assert_match(/Booting NeverBlock\n.*in test/, @server.stdout)
      @server.await_stderr(/test, 77 fibers$/)
      @server.await_stderr(/isolation_level = :thread is not followed/)
      assert_equal "fiber", json("/state").fetch("level")
      assert_equal @server.pid.to_s, File.read(@server.in_directory("tmp/its.pid"))
    end
    refute_path_exists @server.in_directory("tmp/its.pid")
  end

  # The three things that a generated puma.rb has.
  def test_a_touched_file_starts_rails_server_again_and_solid_queue_runs_beside_it
    jobs = <<~RUBY
      #!/usr/bin/env ruby
      File.write("tmp/jobs.pid", Process.pid)
      at_exit { File.delete("tmp/jobs.pid") }
      trap(:TERM) { exit }
      sleep
    RUBY
    pid = nil
    command = %w[bin/rails server -e test -p 0]
    env = { "SOLID_QUEUE_IN_PUMA" => "true" }
    left = "at_exit { File.write('tmp/left', '') }\n"
    write = { "bin/jobs" => jobs, "config/initializers/left.rb" => left }
    serve(*command, write: write, env: env) do
      await("bin/jobs") { File.size?(@server.in_directory("tmp/jobs.pid")) }
      pid = Integer(File.read(@server.in_directory("tmp/jobs.pid")), 10)
      FileUtils.touch(@server.in_directory("tmp/restart.txt"))
      await("the server to be there again") { @server.stdout.scan(/Listening on (\S+)/).size == 2 }
      @url = @server.stdout.scan(/Listening on (\S+)/).last.first
      assert_equal @server.pid, json("/state").fetch("pid")
      assert_path_exists @server.in_directory("tmp/left")
      await("another bin/jobs") do
        path = @server.in_directory("tmp/jobs.pid")
        now = File.size?(path) && File.read(path).to_i
        pid = now if now && now != pid
      end
    end
    assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
  end

  private

  def serve(*words, **options)
    @server = RailsServer.new(*words, **options).start
    @url = @server.url
    yield
  ensure
    @server&.stop(expect: nil)
  end

  def both_workers
    pids = []
    await("answers of two workers") do
      threads = Array.new(4) { Thread.new { json("/state").fetch("pid") } }
      pids |= threads.map(&:value)
      pids.size == 2
    end
    pids
  end

  def response(path)
    uri = URI("#{@url}#{path}")
    HTTPClient.open(uri, read_timeout: Patience::SECONDS) do |client|
      client.get(uri.request_uri)
    end
  end

  def json(path)
    answer = response(path)
    assert_equal "200", answer.code,
                 "#{answer.body[0, 1_000]}\n#{@server&.stderr}\n#{@server&.log("production")}"
    JSON.parse(answer.body)
  end

  def await(what, &)
    Patience.await(what, -> { @server&.stderr }, &)
  end
end
