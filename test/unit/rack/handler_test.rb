# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/rack/handler"
require "stringio"
require "tmpdir"

class RackHandlerTest < Minitest::Test
  RACKUP = {
    environment: "development", pid: nil, Port: 9292, Host: "localhost", AccessLog: [],
    config: "config.ru", server: "neverblock"
  }.freeze
  RAILS = {
    user_supplied_options: [], Port: 3000, Host: "localhost", environment: "development",
    restart_cmd: "rails server", caching: nil, early_hints: nil, daemonize: nil,
    pid: "tmp/pids/server.pid"
  }.freeze

  # Options, environment, configuration file => addresses.
  ADDRESSES = [
    [{}, {}, "", %w[http://127.0.0.1:9292]],
    [{ Port: 3000 }, {}, "", %w[http://127.0.0.1:3000]],
    [{ Host: "::1", Port: "0" }, {}, "", %w[http://[::1]:0]],
    [RACKUP, {}, "", %w[http://localhost:9292]],
    [RACKUP, {}, "bind 'http://127.0.0.1:1'", %w[http://127.0.0.1:1]],
    [RACKUP, { "PORT" => "2" }, "bind 'http://127.0.0.1:1'", %w[http://0.0.0.0:2]],
    [
      RACKUP.merge(Port: "3"), { "PORT" => "2" }, "bind 'http://127.0.0.1:1'",
      %w[http://localhost:3]
    ],
    [
      RACKUP.merge(bind: "unix:///run/x.sock http://127.0.0.1:4"), {}, "",
      %w[unix:///run/x.sock http://127.0.0.1:4]
    ],
    [RAILS, {}, "", %w[http://localhost:3000]],
    [RAILS, {}, "bind 'http://127.0.0.1:1'", %w[http://127.0.0.1:1]],
    [
      RAILS.merge(user_supplied_options: [:Port], Port: 5), {}, "bind 'http://127.0.0.1:1'",
      %w[http://localhost:5]
    ]
  ].freeze

  ADDRESSES.each_with_index do |(options, env, text, urls), number|
    define_method("test_case #{number}: it listens on #{urls.join(" and ")}") do
      with_file(text) { assert_equal urls, handler(options, env).settings.binds.map(&:url) }
    end
  end

  def test_options_are_settings_as_those_of_the_command_line
    options = RACKUP.merge(fibers: "7", log_requests: true, "timeouts.idle": "2.5")
    settings = with_file("fibers 3\nlog_format :json\n") { handler(options).settings }
    assert_equal [7, :json], [settings[:fibers], settings[:log_format]]
    assert_equal [true, 2.5], [settings[:log_requests], settings[:"timeouts.idle"]]
  end

  def test_the_environments_name_counts_where_nobody_else_has_one
    { "" => "test", "environment 'staging'" => "staging" }.each do |text, name|
      settings = with_file(text) { handler(environment: "test").settings }
      assert_equal name, settings.in_file(:environment)
    end
  end

  def test_an_unknown_option_is_told_and_those_of_rackup_and_rails_are_not
    assert_equal ["unknown option Fibrs is not followed; did you mean fibers?",
                  "unknown option Colour is not followed (`rackup -s neverblock --help` lists " \
                  "all options)"],
                 handler(RACKUP.merge(RAILS, Fibrs: "3", Colour: "red")).warnings
  end

  def test_a_directory_that_is_not_followed_is_told
    { "/" => 1, "." => 0, "/missing" => 1 }.each do |folder, count|
      told = with_file("directory #{folder.inspect}\n") { handler({}).warnings }
      assert_equal count, told.size, folder
      assert_match(/\Adirectory "#{folder}" is not followed: /, told.first) if count == 1
    end
  end

  def test_a_failure_is_one_line_and_status_1
    err = StringIO.new
    error = assert_raises(SystemExit) do
      NeverBlock::RackHandler.new({ fibers: "0" }, env: {}, err: err).run(->(_env) {})
    end
    assert_equal 1, error.status
    assert_equal "neverblock: -O fibers must be a whole number from 1 to 1000000; got \"0\"\n",
                 err.string
  end

  private

  def handler(options, env = {})
    NeverBlock::RackHandler.new(options, env: env)
  end

  def with_file(text)
    Dir.mktmpdir do |directory|
      Dir.mkdir(File.join(directory, "config"))
      File.write(File.join(directory, "config/neverblock.rb"), text)
      Dir.chdir(directory) { yield }
    end
  end
end
