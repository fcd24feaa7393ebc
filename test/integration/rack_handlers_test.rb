# frozen_string_literal: true

# `rackup -s neverblock` as people type it, with the rackup of Rack 3 (the gem rackup) and that of
# Rack 2 (in rack itself).

require "minitest/autorun"
require "open3"
require "socket"
require_relative "../support/gem_bundle"
require_relative "../support/http_client"
require_relative "../support/server_process"

# rackup of a bundle, in place of our own command.
class RackupProcess < ServerProcess
  # @param urls [Integer] how many addresses it will announce
  def initialize(app, bundle:, gem:, words:, urls: 1, env: {})
    env = bundle.env.merge({ "RACK_ENV" => "test", "PORT" => nil }, env)
    super(app, binds: [nil] * urls, env: env)
    @gem = gem
    @words = words
  end

  def self.command(gem)
    script = "load Gem.bin_path(#{gem.inspect}, 'rackup')"
    [RbConfig.ruby, "-I", File.join(ROOT, "lib"), "-rbundler/setup", "-e", script, "--"]
  end

  private

  def words(rackup)
    [*self.class.command(@gem), *@words, rackup]
  end
end

module RackHandlerTests
  APP = "run ->(env) { [200, { 'content-type' => 'text/plain' }, " \
        "[Rack.release, ' ', env['SERVER_SOFTWARE']]] }\n"
  DEADLINE_S = Patience::SECONDS
  # rackup's own options know no https.
  ANY = if Over.mode == :plain
          %w[-o 127.0.0.1 -p 0].freeze
        else
          ["-O", "bind=#{Over.bind("http://127.0.0.1:0")}"].freeze
        end

  def test_rackup_with_our_name_serves_where_it_was_told_and_ends_cleanly
    serve("-s", "neverblock", *ANY, "-O", "fibers=7") do |server|
      assert_match(%r{\A#{Over.scheme}://127\.0\.0\.1:[1-9]}, server.url)
      assert_match(/\A#{rack_version}\S* neverblock/i, HTTPClient.get(URI(server.url)))
      server.await_stderr(/info: version .*, 7 fibers$/)
      assert_predicate server.stop, :success?
    end
  end

  def test_it_serves_from_workers_that_have_the_application_and_says_why_it_cannot_reload
    serve("-s", "neverblock", *ANY, "-O", "workers=2") do |server|
      assert_match(/neverblock/i, HTTPClient.get(URI(server.url)))
      server.await_stderr(/info: version .*, 2 workers with 1024 fibers each$/)
      Process.kill("HUP", server.pid)
      server.await_stderr(
        /warning: no reload: rackup, rails server or another program has loaded the application/
      )
      assert_match(/neverblock/i, HTTPClient.get(URI(server.url)))
      assert_predicate server.stop, :success?
    end
  end

  def test_without_its_mold_and_its_workers_it_ends_and_says_why
    serve("-s", "neverblock", *ANY, "-O", "workers=2") do |server|
      assert_match(/neverblock/i, HTTPClient.get(URI(server.url)))
      molds = children(server.pid)
      pids = molds.flat_map { |mold| [mold, *children(mold)] }
      pids.each { |pid| Process.kill("KILL", pid) }
      assert_equal 1, server.wait(Patience::SECONDS)&.exitstatus, server.stderr
      reason = /rackup, .* has loaded the application; start that program again/
      assert_match(/error: no worker is left, and none can be forked: #{reason}/, server.stderr)
    end
  end

  def test_an_interrupt_drains_and_ends_with_0
    serve("-s", "neverblock", *ANY) do |server|
      assert_predicate server.stop(signal: "INT"), :success?
    end
  end

  def test_the_environment_makes_it_the_default
    serve(*ANY, env: { handler_variable => "neverblock" }) do |server|
      assert_match(/neverblock/i, HTTPClient.get(URI(server.url)))
    end
  end

  def test_a_require_makes_it_the_default
    %w[neverblock/rack/default never_block/server/thin].each do |name|
      serve("-r", name, *ANY) do |server|
        assert_match(/neverblock/i, HTTPClient.get(URI(server.url)))
      end
    end
  end

  def test_an_address_of_our_own_form_goes_before_rackups
    Dir.mktmpdir do |directory|
      bind = "bind=unix://#{directory}/x.sock?mode=0600 #{Over.bind("http://127.0.0.1:0")}"
      serve("-s", "neverblock", "-O", bind, "-O", "log_format=json", urls: 2) do |server|
        assert_equal "unix://#{directory}/x.sock", server.urls[0]
        assert_equal "200", HTTPClient.get_response(URI(server.urls[1])).code
        assert_match(/"message":"version /, server.await_stderr(/^\{.*\}$/)[0])
      end
      assert_empty Dir.children(directory)
    end
  end

  def test_the_configuration_file_counts
    Dir.mktmpdir do |directory|
      path = File.join(directory, "settings.rb")
      File.write(path, "bind #{Over.bind("http://127.0.0.1:0").inspect}\nfibers 9\n")
      serve("-s", "neverblock", "-O", "configuration=#{path}") do |server|
        server.await_stderr(/, 9 fibers$/)
      end
    end
  end

  # Words of the command line => the line on standard error.
  WRONG = {
    %w[-O fibers=zero] =>
      "neverblock: -O fibers must be a whole number from 1 to 1000000; got \"zero\"\n",
    %w[-O bind=localhost] => /\Aneverblock: cannot bind to "localhost": an address must be/,
    %w[-p http] => /\Aneverblock: Port must be a whole number from 0 to 65535/,
    %w[-O public_dir=/no/such] => Regexp.new(
      "\\Aneverblock: cannot use the folder /no/such of public_dir: " \
      "there is no such folder; create it, or name another"
    ),
    %w[-O configuration=/no/such.rb] =>
      "neverblock: there is no configuration file /no/such.rb; `neverblock init` writes " \
      "config/neverblock.rb\n"
  }.freeze

  WRONG.each do |words, line|
    define_method("test_#{words.join(" ")} is one line and status 1") do
      status, err = invoke("-s", "neverblock", *words)
      assert_equal 1, status, err
      assert_operator line, :===, err
      assert_equal 1, err.lines.size, err
    end
  end

  def test_a_busy_port_is_one_line_and_status_1
    TCPServer.open("127.0.0.1", 0) do |holder|
      port = holder.local_address.ip_port.to_s
      status, err = invoke("-s", "neverblock", "-o", "127.0.0.1", "-p", port)
      assert_equal [1, 1], [status, err.lines.size], err
      assert_match(/\Aneverblock: cannot listen on .*is busy/, err)
    end
  end

  def test_its_options_are_in_rackups_help
    _, _, out = invoke("-s", "neverblock", "--help")
    ["-O fibers=N", "-O bind=URL", "-O log_format=NAME", "-O timeouts.header=VALUE"]
      .each { |words| assert_includes out, words }
  end

  def test_the_handler_says_that_it_is_the_default
    code = "require '#{gem_of_rackup}'; require '#{gem_of_rackup}/handler/neverblock'; " \
           "print #{handlers}.default, ' ', #{handlers}.get('neverblock')"
    lib = File.join(ServerProcess::ROOT, "lib")
    out, = Open3.capture2(bundle.env, RbConfig.ruby, "-I", lib, "-rbundler/setup", "-e", code)
    assert_equal "#{handlers}::NeverBlock #{handlers}::NeverBlock", out
  end

  private

  def children(parent)
    Dir.children("/proc").grep(/\A\d+\z/).map(&:to_i).select do |pid|
      File.read("/proc/#{pid}/stat").rpartition(")").last.split[1].to_i == parent
    rescue SystemCallError
      false
    end
  end

  def serve(*words, app: APP, env: {}, urls: 1)
    server = RackupProcess.new(
      app, bundle: bundle, gem: gem_of_rackup, words: words, env: env, urls: urls
    ).start
    yield server
  ensure
    server&.stop(expect: nil)
  end

  def invoke(*words)
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "config.ru"), APP)
      env = bundle.env.merge("RACK_ENV" => "test", "PORT" => nil, "NB_DEBUG" => nil)
      command = RackupProcess.command(gem_of_rackup)
      Timeout.timeout(DEADLINE_S) do
        out, err, status = Open3.capture3(env, *command, *words, chdir: directory, stdin_data: "")
        [status.exitstatus, err, out]
      end
    end
  end
end

class Rackup2HandlerTest < Minitest::Test
  include RackHandlerTests

  BUNDLE = GemBundle.new(File.expand_path("rackup_2.gemfile", __dir__), "bundle-rackup2")

  def bundle = BUNDLE
  def gem_of_rackup = "rackup"
  def handlers = "Rackup::Handler"
  def handler_variable = "RACKUP_HANDLER"
  def rack_version = /3\.2\./
end

class Rack22HandlerTest < Minitest::Test
  include RackHandlerTests

  BUNDLE = GemBundle.new(File.expand_path("rack_22.gemfile", __dir__), "bundle-rack22")

  def bundle = BUNDLE
  def gem_of_rackup = "rack"
  def handlers = "Rack::Handler"
  def handler_variable = "RACK_HANDLER"
  def rack_version = /2\.2\./

  CHUNKED = <<~RUBY
    require "rack/chunked"
    use Rack::Chunked
    run(lambda do |env|
      rows = ["one, ", "two"]
      body = env["PATH_INFO"] == "/array" ? rows : rows.each
      [200, { "content-type" => "text/plain" }, body]
    end)
  RUBY

  def test_what_its_rack_chunked_puts_into_chunks_arrives_without_them
    serve("-s", "neverblock", *ANY, app: CHUNKED) do |server|
      %w[/array /each].each do |path|
        assert_equal "one, two", HTTPClient.get(URI("#{server.url}#{path}")), path
      end
    end
  end
end
