# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock"
require "neverblock/boot/launch"
require "neverblock/config/settings"
require "net/http"
require "tmpdir"

class LaunchTest < Minitest::Test
  SECONDS = Patience::SECONDS

  def setup
    @directory = Dir.mktmpdir
    @pidfile = File.join(@directory, "x.pid")
    @threads = NeverBlock.offload_threads
    @log = File.open(File.join(@directory, "log"), "w+")
  end

  def teardown
    NeverBlock.offload_threads = @threads
    @log.close
    FileUtils.rm_rf(@directory)
  end

  def test_it_serves_with_its_settings_until_it_is_stopped_and_gives_back_what_it_took
    env = { "RACK_ENV" => nil }
    reader, out = IO.pipe
    launch = make(
      env, out, pidfile: @pidfile, environment: "staging", "executor.offload_threads": 3
    )
    status = Thread.new do
      launch.run(warnings: ["mind the gap"]) { ->(_env) { [200, {}, [File.read(@pidfile)]] } }
    end
    url = Timeout.timeout(SECONDS) { reader.gets }[/\S+$/]
    assert_equal "#{Process.pid}\n", Net::HTTP.get(URI(url))
    assert_equal ["staging", 3], [env["RACK_ENV"], NeverBlock.offload_threads]
    launch.stop
    assert_equal 0, Timeout.timeout(SECONDS) { status.value }
    refute_path_exists @pidfile
    assert_includes File.read(@log.path), "info: mind the gap"
  ensure
    [reader, out].each(&:close)
  end

  def test_an_application_that_cannot_be_loaded_leaves_no_pidfile
    launch = make({}, $stdout, pidfile: @pidfile)
    assert_raises(NeverBlock::ApplicationError) do
      launch.run { raise NeverBlock::ApplicationError, "no" }
    end
    refute_path_exists @pidfile
  end

  def test_what_is_wrong_is_found_before_the_application_is_loaded
    {
      { spool_directory: "/no/such" } => /spool_directory/,
      { pidfile: "/no/such/x.pid" } => /no folder/
    }.each do |command, words|
      error = assert_raises(NeverBlock::StartError) { make({}, $stdout, **command).run { flunk } }
      assert_match words, error.message
    end
  end

  private

  # Its log goes to a file of the test.
  def make(env, out, **command)
    environment = NeverBlock::Config::Environment.new(env)
    settings = NeverBlock::Config::Settings.new(
      command: { port: 0, **command.except(:environment) },
      environment: environment,
      file: command.slice(:environment)
    )
    descriptor = @log.fileno
    settings.define_singleton_method(:config) { |**fixed| super(log_fd: descriptor, **fixed) }
    NeverBlock::Boot::Launch.new(settings, environment, out: out)
  end
end
