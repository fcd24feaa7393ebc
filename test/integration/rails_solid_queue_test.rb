# frozen_string_literal: true

# Solid Queue's own processes beside the server, in production behind two workers, as
# `bin/rails solid_queue:install` and one variable give them.

require "json"
require "minitest/autorun"
require "securerandom"
require_relative "../support/http_client"
require_relative "../support/rails_application"

class RailsSolidQueueTest < Minitest::Test
  NEVERBLOCK = [
    RbConfig.ruby, "-rbundler/setup", File.join(ServerProcess::ROOT, "exe/neverblock")
  ].freeze

  # One database for all.
  class Application < RailsApplication
    private

    def generate(folder)
      super
      run(env(folder), "bin/rails", "generate", "solid_queue:install", chdir: folder)
      # After the tests' own settings.
      File.write(File.join(folder, "config/initializers/probe_queue.rb"), <<~RUBY)
        Rails.application.config.active_job.queue_adapter = :solid_queue
        Rails.application.config.solid_queue.connects_to = nil
        Rails.application.config.force_ssl = false
      RUBY
      run(
        env(folder).merge("RAILS_ENV" => "production", "DATABASE_URL" => self.class::DATABASE),
        "bin/rails", "runner", "load 'db/queue_schema.rb'", chdir: folder
      )
    end
  end
  Application::DATABASE = "sqlite3:storage/production.sqlite3"

  # @return [RailsApplication]
  def self.application
    @application ||= Application.new(
      gemfile: RailsApplication.gemfile(RailsApplication.pinned("solid_queue"))
    )
  end

  def setup
    bind = Over.bind("http://127.0.0.1:0")
    settings = "bind #{bind.inspect}\nworkers 2\nenvironment \"production\"\n"
    @server = RailsServer.new(
      *NEVERBLOCK, application: self.class.application,
      write: { "config/neverblock.rb" => settings },
      env: { "DATABASE_URL" => Application::DATABASE, "SOLID_QUEUE_IN_NEVERBLOCK" => "1" }
    ).start
  end

  def teardown
    @server&.stop(expect: nil)
  end

  def test_jobs_of_requests_are_run_by_its_processes_which_end_with_the_server
    text = SecureRandom.hex
    assert_equal "202", ask("/job?text=#{text}").code
    Patience.await("the job's record", method(:told)) { ask("/records?text=#{text}").body == "1" }
    processes = await_processes
    assert_predicate @server.stop, :success?
    Patience.await("their end") { processes.none? { |pid| lives?(pid) } }
  end

  def test_they_end_when_the_server_is_killed
    processes = await_processes
    @server.kill
    Patience.await("their end") { processes.none? { |pid| lives?(pid) } }
  end

  private

  def ask(path)
    HTTPClient.get_response(URI("#{@server.url}#{path}"))
  end

  # @return [Array<Integer>] its supervisor, a dispatcher, a worker
  def await_processes
    Patience.await("its processes", method(:told)) do
      supervisor = @server.stderr[%r{Solid Queue \(bin/jobs\) is process (\d+)}, 1]
      found = supervisor ? [supervisor.to_i, *children(supervisor.to_i)] : []
      found if found.size > 2
    end
  end

  def told
    "#{@server.stderr}\n#{@server.log("production").lines.last(30).join}"
  end

  def children(parent)
    Dir.children("/proc").grep(/\A\d+\z/).map(&:to_i).select { |pid| status(pid).last == parent }
  end

  # A child that nobody waits for is over as well.
  def lives?(pid)
    !["Z", nil].include?(status(pid).first)
  end

  # @return [Array(String, Integer)] state and parent of proc(5)
  def status(pid)
    state, parent = File.read("/proc/#{pid}/stat").rpartition(")").last.split
    [state, parent.to_i]
  rescue SystemCallError # it has ended
    []
  end
end
