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
    [{}, 3000, nil, "http://127.0.0.1:3000"],
    [{}, 0, nil, "http://127.0.0.1:0"],
    [{}, nil, "0.0.0.0", "http://0.0.0.0:9292"],
    [{}, 3000, "::1", "http://[::1]:3000"],
    [{}, 3000, "[::1]", "http://[::1]:3000"]
  ].freeze

  BINDS.each do |env, port, host, url|
    define_method("test_with #{env} and -p #{port.inspect} -o #{host.inspect} the bind is #{url}") do
      assert_equal url, NeverBlock::Config::Environment.new(env).bind(port: port, host: host).url
    end
  end

  def test_a_port_that_is_none_names_the_variable
    error = assert_raises(NeverBlock::ConfigError) { NeverBlock::Config::Environment.new("PORT" => "web").bind }
    assert_equal 'PORT (in the environment) is a whole number from 0 to 65535; seen "web"', error.message
  end

  # Environment, -e => RACK_ENV, RAILS_ENV afterwards.
  NAMES = [
    [{}, nil, "development", nil],
    [{ "RACK_ENV" => "test" }, nil, "test", nil],
    [{ "RAILS_ENV" => "production" }, nil, "production", "production"],
    [{ "RACK_ENV" => "test", "RAILS_ENV" => "production" }, nil, "test", "production"],
    [{ "RACK_ENV" => "test", "RAILS_ENV" => "test" }, "production", "production", "production"]
  ].freeze

  NAMES.each do |before, chosen, rack, rails|
    define_method("test_with #{before} and -e #{chosen.inspect} RACK_ENV becomes #{rack} and RAILS_ENV #{rails.inspect}") do
      env = before.dup
      assert_equal rack, NeverBlock::Config::Environment.new(env).apply_name(chosen)
      assert_equal [rack, rails], [env["RACK_ENV"], env["RAILS_ENV"]]
    end
  end

  def test_variables_without_effect_yet_are_named
    lines = NeverBlock::Config::Environment.new("WEB_CONCURRENCY" => "4", "PIDFILE" => "/run/x.pid").warnings
    assert_equal 2, lines.size
    assert_match(/WEB_CONCURRENCY=4 has no effect yet/, lines[0])
    assert_match(/PIDFILE has no effect yet/, lines[1])
    assert_empty NeverBlock::Config::Environment.new("WEB_CONCURRENCY" => "1", "PIDFILE" => "").warnings
  end
end
