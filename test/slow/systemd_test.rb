# frozen_string_literal: true

# examples/deploy/neverblock.service in a systemd that has booted.

require "minitest/autorun"
require_relative "../support/booted_systemd"

class SystemdTest < Minitest::Test
  UNIT = File.read(File.join(BootedSystemd::ROOT, "examples/deploy/neverblock.service"))
  URL = "http://127.0.0.1:9292"

  APP = <<~'RUBY'
    VERSION_OF_IT = File.read("version")
    run(lambda do |env|
      if env["PATH_INFO"] == "/wait"
        File.write("/run/app/begun", "")
        sleep 0.01 until File.exist?("/run/app/go")
      end
      [200, {}, ["#{Process.uid} #{ENV["RACK_ENV"]} #{VERSION_OF_IT}"]]
    end)
  RUBY

  GEMFILE = <<~RUBY
    source "#{Gem.sources.to_a.first}"
    gem "neverblock", path: "/neverblock"
  RUBY

  FILES = { "config.ru" => APP, "version" => "one", "Gemfile" => GEMFILE }.freeze

  def setup
    problem = BootedSystemd.problem
    skip problem if problem
    # The bundle of the checkout, of which Bundler needs no word from outside.
    unit = UNIT.sub("Environment=", "Environment=BUNDLE_PATH=/neverblock/vendor/bundle ")
               .sub("WatchdogSec=60", "WatchdogSec=3")
    @systemd = BootedSystemd.new(unit, FILES.merge("Gemfile.lock" => lock)).boot
    @systemd.systemctl("start", "app")
  end

  def teardown
    @systemd&.remove
  end

  # `systemctl start` comes back when the unit is active.
  def test_the_unit_is_active_once_it_answers
    assert_match(/\A[1-9]\d* production one\z/, get("/"))
    assert_equal "Listening on #{URL}", @systemd["StatusText"]
    assert_equal "ready\n", get("/ready", "--unix-socket", "/run/app/admin.sock")
  end

  def test_a_reload_brings_new_code_and_keeps_the_process
    before = @systemd["MainPID"]
    @systemd.run("sh", "-c", "echo two >/srv/app/current/version")
    @systemd.systemctl("reload", "app")
    Patience.await("new code") { get("/").end_with?("two\n") }
    assert_equal before, @systemd["MainPID"]
    assert_equal "active", @systemd["ActiveState"]
  end

  def test_a_stop_lets_running_requests_end
    answer = Thread.new { get("/wait") }
    Patience.await("the request") { @systemd.run("test", "-e", "/run/app/begun").last.success? }
    stop = Thread.new { @systemd.systemctl("stop", "app") }
    Patience.await("the drain") { @systemd["ActiveState"] == "deactivating" }
    @systemd.run("touch", "/run/app/go")
    assert_match(/ production one\z/, answer.value)
    stop.value
    assert_equal %w[inactive success 0], [@systemd["ActiveState"], @systemd["Result"],
                                          @systemd["ExecMainStatus"]]
  end

  def test_a_server_that_gives_no_sign_of_life_is_started_again
    before = @systemd["MainPID"]
    @systemd.run("kill", "-STOP", before)
    Patience.await("the watchdog") { @systemd["NRestarts"].to_i.positive? }
    Patience.await("the new one") { @systemd["ActiveState"] == "active" }
    refute_equal before, @systemd["MainPID"]
    assert_match(/ production one\z/, get("/"))
  end

  private

  def get(path, *options)
    @systemd.run("curl", "-s", "--max-time", "60", *options, "#{URL}#{path}").first
  end

  def lock
    rack = Gem.loaded_specs.fetch("rack").version
    <<~LOCK
      PATH
        remote: /neverblock
        specs:
          neverblock (#{NeverBlock::VERSION})
            rack (>= 2.2.4, < 4)

      GEM
        remote: #{Gem.sources.to_a.first}
        specs:
          rack (#{rack})

      PLATFORMS
        #{Gem::Platform.local}

      DEPENDENCIES
        neverblock!
    LOCK
  end
end
