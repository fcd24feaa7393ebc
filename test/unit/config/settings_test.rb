# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config/settings"

class SettingsTest < Minitest::Test
  Config = NeverBlock::Config

  def settings(command: {}, env: {}, file: {})
    Config::Settings.new(command: command, environment: Config::Environment.new(env), file: file)
  end

  def bind(url)
    Config::Bind.parse(url)
  end

  def test_the_command_line_goes_before_the_environment_before_the_file_before_the_default
    assert_nil settings[:pidfile]
    assert_equal "f", settings(file: { pidfile: "f" })[:pidfile]
    env = { "PIDFILE" => "e" }
    assert_equal "e", settings(file: { pidfile: "f" }, env: env)[:pidfile]
    command = { pidfile: "c" }
    assert_equal "c", settings(file: { pidfile: "f" }, env: env, command: command)[:pidfile]
    assert_equal 1024, settings[:fibers]
  end

  def test_false_and_nil_are_values_too
    assert_equal false, settings(file: { yjit: false })[:yjit]
  end

  # command line, environment, file => addresses
  BINDS = [
    [{}, {}, {}, %w[http://127.0.0.1:9292]],
    [
      {}, {}, { bind: %w[http://127.0.0.1:1 unix:///run/x.sock] },
      %w[http://127.0.0.1:1 unix:///run/x.sock]
    ],
    [{}, { "PORT" => "2" }, { bind: %w[http://127.0.0.1:1] }, %w[http://0.0.0.0:2]],
    [
      {}, { "PORT" => "2" }, { bind: %w[unix:///run/x.sock http://127.0.0.1:2] },
      %w[unix:///run/x.sock http://127.0.0.1:2]
    ],
    [{}, { "BIND" => "http://127.0.0.1:3", "PORT" => "2" }, {}, %w[http://127.0.0.1:3]],
    [
      { port: 4 }, { "BIND" => "http://127.0.0.1:3" }, { bind: %w[http://127.0.0.1:1] },
      %w[http://127.0.0.1:4]
    ],
    [{ host: "::1" }, { "PORT" => "2" }, {}, %w[http://[::1]:2]],
    [
      { bind: %w[http://127.0.0.1:5] }, { "PORT" => "2" }, { bind: %w[http://127.0.0.1:1] },
      %w[http://127.0.0.1:5]
    ]
  ].freeze

  BINDS.each do |command, env, file, urls|
    places = urls.join(" and ")
    define_method("test_with #{command} and #{env} and #{file} it listens on #{places}") do
      parsed = [command, file].map do |values|
        values.transform_values do |value|
          value.is_a?(Array) ? value.map { |url| bind(url) } : value
        end
      end
      assert_equal urls, settings(command: parsed[0], env: env, file: parsed[1]).binds.map(&:url)
    end
  end

  def test_what_the_environment_replaces_is_told
    file = { bind: [bind("unix:///run/x.sock"), bind("http://127.0.0.1:1")] }
    assert_equal "PORT replaces bind unix:///run/x.sock and http://127.0.0.1:1 of " \
                 "config/neverblock.rb (write -b, or unset PORT)",
                 settings(file: file, env: { "PORT" => "2" }).replaced_binds
    assert_equal "BIND replaces bind unix:///run/x.sock of c.rb (write -b, or unset BIND)",
                 settings(file: file, env: { "BIND" => "http://127.0.0.1:1" },
                          command: { config: "c.rb" }).replaced_binds
  end

  def test_nothing_is_told_where_nothing_is_replaced
    file = { bind: [bind("unix:///run/x.sock"), bind("http://127.0.0.1:1")] }
    assert_nil settings(file: file, env: { "PORT" => "1" }).replaced_binds
    assert_nil settings(file: file, env: { "PORT" => "2" }, command: { port: 3 }).replaced_binds
    assert_nil settings(file: file).replaced_binds
    assert_nil settings(env: { "PORT" => "2" }).replaced_binds
  end

  def test_the_admin_pages_are_nowhere_unless_somebody_says_where
    assert_nil settings.config.admin
    file = { admin: bind("http://127.0.0.1:9293") }
    assert_equal "http://127.0.0.1:9293", settings(file: file).config.admin.url
    command = { admin: bind("unix:///run/a.sock") }
    assert_equal "unix:///run/a.sock", settings(command: command, file: file).config.admin.url
  end

  def test_the_engine_is_told_in_its_own_units_and_only_what_was_said
    config = settings(
      file: {
        "timeouts.header": 2.5, "limits.queue": 7, log_format: :json, spool_directory: "/var/tmp"
      }
    ).config
    assert_equal(
      {
        header_timeout_ms: 2_500, queue_max: 7, spool_directory: "/var/tmp", poller: nil, log_fd: 2
      },
      config.engine_options
    )
    assert_equal :json, config.log_format
  end
end
