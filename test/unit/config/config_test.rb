# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config"

class ConfigTest < Minitest::Test
  Config = NeverBlock::Config

  def test_requests_the_loop_answers_are_logged_where_requests_are
    assert_equal 1, Config.new(log_requests: :json).engine_options[:log_refused]
    refute_includes Config.new.engine_options, :log_refused
  end

  def test_executors_are_told_who_asks_where_the_time_went
    [[{}, {}], [{ server_timing: true }, { server_timing: true }],
     [{ server_timing: "0123456789abcdef" }, { server_timing: "0123456789abcdef" }],
     [{ log_requests: :json }, { request_times: true }], [{ log_requests: true }, {}],
     [{ log_requests: true, log_format: :json }, { request_times: true }],
     [{ log_format: :json }, {}]].each do |settings, told|
      options = Config.new(**settings).executor_options
      assert_equal told, options.slice(:server_timing, :request_times), settings
    end
  end

  # An address of the application, one of the admin pages => whether they are the same.
  SHARED = {
    %w[http://127.0.0.1:80 http://127.0.0.1:80] => true,
    %w[http://0.0.0.0:80 http://127.0.0.1:80] => true,
    %w[http://127.0.0.1:80 http://0.0.0.0:80] => true,
    %w[http://localhost:80 http://[::1]:80] => true,
    %w[http://[::]:80 http://localhost:80] => true,
    %w[unix:///run/a unix:///run/a] => true,
    %w[http://127.0.0.1:80 http://127.0.0.1:81] => false,
    %w[http://127.0.0.1:80 http://127.0.0.2:80] => false,
    %w[http://0.0.0.0:80 http://[::1]:80] => false,
    %w[http://127.0.0.1:0 http://127.0.0.1:0] => false,
    %w[unix:///run/a http://127.0.0.1:80] => false
  }.freeze

  def test_the_admin_pages_have_an_address_of_their_own
    SHARED.each do |(bind, admin), shared|
      next Config.new(binds: bind, admin: admin) unless shared

      error = assert_raises(NeverBlock::ConfigError) { Config.new(binds: bind, admin: admin) }
      assert_equal "admin #{admin} and bind #{bind} are the same address: the admin pages " \
                   "(--admin) need one of their own, the application has -p or -b", error.message
    end
  end

  def test_defaults_are_those_of_the_interface
    config = Config.new
    assert_equal ["http://127.0.0.1:9292"], config.binds.map(&:url)
    assert_equal [1024, 1024, 1], [config.fibers, config.backlog, config.executors]
    assert_equal [10_000, 30_000, 65_000, 30_000, 500], config.settings.values_at(
      :header_timeout_ms, :body_timeout_ms, :idle_timeout_ms, :shutdown_timeout_ms, :rate_min
    )
    assert_equal [65_536, 100, 104_857_600, 1_073_741_824, 10_000, 1_000],
                 config.settings.values_at(
                   :header_bytes_max, :headers_max, :body_bytes_max, :spool_bytes_max,
                   :connections_max, :queue_max
                 )
    assert_in_delta 30.0, config.shutdown_timeout
  end

  # The core's header is the manual; a setting added or changed there must be known here.
  def test_the_settings_are_those_of_the_core_with_the_same_defaults
    header = File.read(File.expand_path("../../../ext/neverblock/core/loop/settings.h", __dir__))
    rows = header[/#define NB_SERVER_SETTINGS.*?\n\n/m].scan(/X\(uint\d+_t, (\w+), (\d+)\)/)
    core = rows.to_h { |name, value| [name.to_sym, value.to_i] }
    assert_equal core, Config::SETTINGS.transform_values(&:first)
  end

  def test_the_engine_is_given_what_was_given_and_its_paths
    given = { idle_timeout_ms: 5, log_fd: 7, spool_directory: "/var/tmp", poller: "poll" }
    options = Config.new(**given, queue_max: "1000").engine_options
    assert_equal({ **given, queue_max: 1_000 }, options)
  end

  WRONG = {
    "no bind at all" => [{ binds: [] }, "at least one address"],
    "no fibers" => [{ fibers: 0 }, "fibers must be a whole number from 1 to 1000000; got 0"],
    "a fraction of a fiber" => [{ fibers: 1.5 }, "got 1.5"],
    "more executors than fibers" => [
      { executors: 2, fibers: 1 }, "fibers must be a whole number from 2"
    ],
    "a backlog the kernel cannot have" => [{ backlog: 65_536 }, "backlog"],
    "text for a number" => [
      { queue_max: "many" }, "queue_max must be a whole number from 0 to 1000000; got \"many\""
    ],
    "more headers than the core has room for" => [
      { headers_max: 257 }, "headers_max must be a whole number from 1 to 256"
    ],
    "a setting that is not there" => [
      { idle_timeout: 5 },
      "unknown setting idle_timeout; known are io_threads, header_timeout_ms"
    ]
  }.freeze

  WRONG.each do |what, (options, words)|
    define_method("test_#{what} is refused") do
      error = assert_raises(NeverBlock::ConfigError) { Config.new(**options) }
      assert_includes error.message, words
    end
  end

  def test_a_config_is_frozen_through_and_through
    config = Config.new
    assert_predicate config, :frozen?
    assert_predicate config.binds, :frozen?
    assert_predicate config.settings, :frozen?
  end
end
