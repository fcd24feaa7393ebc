# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config/environment"

class EnvironmentTest < Minitest::Test
  # Environment, port and host of the command line => the bind.
  BINDS = [
    [{}, nil, nil, "http://127.0.0.1:9292"],
    [{ "PORT" => "" }, nil, nil, "http://127.0.0.1:9292"],
    [{ "PORT" => "5000" }, nil, nil, "http://0.0.0.0:5000"],
    [{ "PORT" => "5000" }, 3000, nil, "http://0.0.0.0:3000"],
    [{ "PORT" => "5000" }, nil, "127.0.0.1", "http://127.0.0.1:5000"],
    [{ "PORT" => "5000", "HOST" => "127.0.0.2" }, nil, nil, "http://127.0.0.2:5000"],
    [{ "PORT" => "5000", "HOST" => "::1" }, nil, nil, "http://[::1]:5000"],
    [{ "HOST" => "workstation" }, nil, nil, "http://127.0.0.1:9292"],
    [{}, 3000, nil, "http://127.0.0.1:3000"],
    [{}, 0, nil, "http://127.0.0.1:0"],
    [{}, nil, "0.0.0.0", "http://0.0.0.0:9292"],
    [{}, 3000, "::1", "http://[::1]:3000"],
    [{}, 3000, "[::1]", "http://[::1]:3000"]
  ].freeze

  BINDS.each do |env, port, host, url|
    about = "with #{env} and -p #{port.inspect} -o #{host.inspect} the bind is #{url}"
    define_method("test_#{about}") do
      assert_equal url, NeverBlock::Config::Environment.new(env).bind(port: port, host: host).url
    end
  end

  def test_a_port_that_is_none_names_the_variable
    error = assert_raises(NeverBlock::ConfigError) do
      NeverBlock::Config::Environment.new("PORT" => "web").bind
    end
    assert_equal 'PORT (in the environment) must be a whole number from 0 to 65535; got "web"',
                 error.message
  end

  def test_a_variable_that_is_no_text_is_named
    env = NeverBlock::Config::Environment
    { "PORT" => :port, "BIND" => :binds, "WEB_CONCURRENCY" => :values, "RACK_ENV" => :apply_name }
      .each do |name, method|
      error = assert_raises(NeverBlock::ConfigError) { env.new(name => "\xff").public_send(method) }
      assert_equal "#{name} (in the environment) is no text in UTF-8; got \"\\xFF\"", error.message
    end
  end

  # Environment, -e => RACK_ENV, RAILS_ENV afterwards.
  NAMES = [
    [{}, nil, "development", nil],
    [{ "RACK_ENV" => "test" }, nil, "test", nil],
    [{ "RAILS_ENV" => "production" }, nil, "production", "production"],
    [{ "RACK_ENV" => "test", "RAILS_ENV" => "production" }, nil, "test", "production"],
    [{ "APP_ENV" => "staging" }, nil, "staging", nil],
    [{ "RACK_ENV" => "test", "APP_ENV" => "staging" }, nil, "test", nil],
    [{ "RACK_ENV" => "test", "RAILS_ENV" => "test" }, "production", "production", "production"]
  ].freeze

  NAMES.each do |before, chosen, rack, rails|
    names = "RACK_ENV becomes #{rack} and RAILS_ENV #{rails.inspect}"
    define_method("test_with #{before} and -e #{chosen.inspect} #{names}") do
      env = before.dup
      assert_equal rack, NeverBlock::Config::Environment.new(env).apply_name(chosen)
      assert_equal [rack, rails], [env["RACK_ENV"], env["RAILS_ENV"]]
    end
  end

  # WEB_CONCURRENCY => workers
  { "1" => 1, "0" => 1, "4" => 4, "auto" => :auto, "" => nil }.each do |text, workers|
    define_method("test_with WEB_CONCURRENCY=#{text} there are #{workers.inspect} workers") do
      values = NeverBlock::Config::Environment.new("WEB_CONCURRENCY" => text).values
      workers.nil? ? assert_empty(values) : assert_equal({ workers: workers }, values)
    end
  end

  def test_a_web_concurrency_that_is_none_is_named
    error = assert_raises(NeverBlock::ConfigError) do
      NeverBlock::Config::Environment.new("WEB_CONCURRENCY" => "many").values
    end
    assert_equal "WEB_CONCURRENCY (in the environment) must be a whole number from 1 to 128, " \
                 'or auto; got "many"', error.message
  end

  def test_bind_names_addresses_and_goes_before_port
    binds = NeverBlock::Config::Environment.new(
      "BIND" => "http://127.0.0.1:1  unix:///run/x.sock", "PORT" => "5000"
    ).binds
    assert_equal ["http://127.0.0.1:1", "unix:///run/x.sock"], binds.map(&:url)
    assert_nil NeverBlock::Config::Environment.new({}).binds
  end

  def test_a_name_of_the_file_counts_where_the_environment_has_none
    env = {}
    assert_equal "staging", NeverBlock::Config::Environment.new(env).apply_name(nil, "staging")
    assert_equal "staging", env["RACK_ENV"]
    environment = NeverBlock::Config::Environment.new({ "RACK_ENV" => "test" })
    assert_equal "test", environment.apply_name(nil, "staging")
  end

  def test_a_chosen_name_also_counts_for_those_who_ask_app_env_first
    env = { "APP_ENV" => "test" }
    NeverBlock::Config::Environment.new(env).apply_name("production")
    assert_equal "production", env["APP_ENV"]
  end

  def test_other_variables_are_read_by_their_settings
    env = {
      "PIDFILE" => "/run/x.pid", "RUBY_YJIT_ENABLE" => "0",
      "APP_ENV" => "staging", "RACK_ENV" => " "
    }
    assert_equal(
      { pidfile: "/run/x.pid", yjit: false, environment: "staging" },
      NeverBlock::Config::Environment.new(env).values
    )
    error = assert_raises(NeverBlock::ConfigError) do
      NeverBlock::Config::Environment.new("RACK_ENV" => "a b").values
    end
    assert_equal 'RACK_ENV (in the environment) must be a name, such as production; got "a b"',
                 error.message
  end
end
