# frozen_string_literal: true

# The command as a process: what the unit tests of the command line cannot see, since it takes a
# real socket, a real limit or a real file.

require "minitest/autorun"
require "open3"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "../support/http_client"
require_relative "../support/server_process"

class CLIProcessTest < Minitest::Test
  ROOT = ServerProcess::ROOT
  HELLO = "run ->(_env) { [200, {}, [\"\#{ENV['RACK_ENV']} \#{ENV['RAILS_ENV']}\"]] }\n"
  DEADLINE_S = Patience::SECONDS

  def test_a_busy_port_names_port_and_holder_and_how_to_choose_another
    TCPServer.open("127.0.0.1", 0) do |holder|
      port = holder.local_address.ip_port
      line = refused("-b", "http://127.0.0.1:#{port}")
      assert_includes line, "cannot listen on http://127.0.0.1:#{port}: " \
                            "port #{port} is busy: process #{Process.pid} ("
      assert_match(
        /\) listens there; stop it, or choose another port with -p \d+, or any free one with -p 0$/,
        line
      )
    end
  end

  def test_an_address_of_another_machine_is_refused
    assert_match(/this machine has no address 192\.0\.2\.1/, refused("-b", "http://192.0.2.1:0"))
  end

  def test_a_host_without_address_is_refused
    assert_match(/the host "no-such-host\.invalid" has no address/,
                 refused("-b", "http://no-such-host.invalid:0"))
  end

  def test_a_second_bind_that_fails_leaves_nothing_listening
    TCPServer.open("127.0.0.1", 0) do |holder|
      port = holder.local_address.ip_port
      assert_match(/is busy/, refused("-b", "http://127.0.0.1:0", "-b", "http://127.0.0.1:#{port}"))
    end
  end

  def test_a_socket_cannot_replace_a_file
    Dir.mktmpdir do |directory|
      path = File.join(directory, "notes.txt")
      File.write(path, "keep me")
      assert_match(/notes\.txt exists and is not a socket; remove it/,
                   refused("-b", "unix://#{path}"))
      assert_equal "keep me", File.read(path)
    end
  end

  def test_a_socket_needs_its_folder
    assert_match(%r{there is no folder /no/such/folder; create it},
                 refused("-b", "unix:///no/such/folder/x.sock"))
  end

  # Text of config.ru => the line.
  BROKEN = {
    "run ->(env) {\n" => /\Aneverblock: config\.ru:\d+: syntax error: /,
    "x = 1\nraise 'no database here'\n" =>
      /\Aneverblock: config\.ru:2: no database here \(RuntimeError\)$/,
    "require 'no/such/gem'\n" =>
      /\Aneverblock: config\.ru:1: cannot load such file -- no\/such\/gem \(LoadError\)/,
    "# nothing\n" => /\Aneverblock: config\.ru: the file runs no application/,
    "run Object.new\n" => /\Aneverblock: config\.ru: run got Object/
  }.freeze

  BROKEN.each do |text, pattern|
    code = text.lines.last.strip.inspect
    define_method("test_a rackup file with #{code} is one line and status 1") do
      assert_match pattern, refused(app: text)
    end
  end

  def test_the_trace_of_a_broken_file_is_shown_when_asked_for
    status, _, err = invoke(app: "def boot = raise('deep')\nboot\n", env: { "NB_DEBUG" => "1" })
    assert_equal 1, status
    assert_match(/config\.ru:1:in `?.*boot.*\n.*config\.ru:2/, err)
  end

  def test_a_file_that_ends_the_process_ends_it_with_its_own_status_and_is_named
    status, _, err = invoke(app: "\nexit\n")
    assert_equal 0, status
    assert_equal "neverblock: exit(0) was called at config.ru:2 while the application was " \
                 "loaded\n", err
  end

  def test_a_file_that_says_why_it_ends_the_process_has_the_last_word
    status, _, err = invoke(app: "abort 'not today'\n")
    assert_equal [1, "not today\n"], [status, err]
  end

  def test_more_fibers_than_the_system_has_maps_for_are_refused
    skip "vm.max_map_count is Linux's" unless File.exist?("/proc/sys/vm/max_map_count")
    if File.read("/proc/sys/vm/max_map_count").to_i > 2_000_000
      skip "this kernel allows a million fibers"
    end

    assert_match(
      /fibers need about \d+ memory maps, vm\.max_map_count is \d+: use -f \d+ or fewer/,
      refused("-f", "1000000")
    )
  end

  def test_the_soft_descriptor_limit_is_raised
    skip "needs proc(5)" unless File.exist?("/proc/self/limits")

    hard = Process.getrlimit(:NOFILE).last
    ServerProcess.run(HELLO, wrap: ["sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh"]) do |server|
      assert_match(/^Max open files\s+#{hard}\s+#{hard}\s/, File.read("/proc/#{server.pid}/limits"))
    end
  end

  def test_a_hard_descriptor_limit_that_is_too_low_is_named_and_served_with
    ServerProcess.run(HELLO, wrap: ["sh", "-c", 'ulimit -n 512; exec "$@"', "sh"]) do |server|
      need = /10000 connections with 1024 requests may need \d+: raise the hard limit/
      server.await_stderr(/^neverblock: \S+ info: 512 descriptors are allowed; #{need}/)
      assert_equal "200", HTTPClient.get_response(URI(server.url)).code
    end
  end

  def test_port_in_the_environment_means_every_address
    ServerProcess.run(HELLO, binds: [], options: [], env: { "PORT" => "0" }) do |server|
      await_url(server)
      assert_match(%r{\Ahttp://0\.0\.0\.0:[1-9]\d*\z}, @url)
      assert_equal "200", HTTPClient.get_response("127.0.0.1", "/", URI(@url).port).code
    end
  end

  def test_the_environment_option_is_what_the_application_sees
    env = { "RACK_ENV" => "test", "RAILS_ENV" => "test" }
    ServerProcess.run(HELLO, options: ["-e", "staging"], env: env) do |server|
      assert_equal "staging staging", HTTPClient.get(URI(server.url))
    end
    ServerProcess.run(HELLO, env: { "RACK_ENV" => nil, "RAILS_ENV" => nil }) do |server|
      assert_equal "development ", HTTPClient.get(URI(server.url))
    end
  end

  def test_version_and_help_need_no_application
    status, out, err = invoke("--version", app: nil)
    assert_equal [0, ""], [status, err]
    assert_match(/\Aneverblock 2\.\d+\.\d+/, out)
    status, out, = invoke("--help", app: nil)
    assert_equal 0, status
    assert_includes out, "Examples:"
  end

  # Without gems nothing but lib/ and what is named is found.
  def test_bench_is_found_where_its_gem_is_and_named_with_the_mend_where_it_is_not
    lib, bench = %w[lib bench/lib].map { |folder| File.join(ROOT, folder) }
    command = [{ "RUBYOPT" => nil, "RUBYLIB" => nil }, RbConfig.ruby, "--disable-gems", "-I", lib]
    executable = File.join(ROOT, "exe/neverblock")
    Dir.mktmpdir do |directory|
      out, err, status = Open3.capture3(*command, executable, "bench", chdir: directory)
      assert_equal [1, "", 1], [status.exitstatus, out, err.lines.size]
      told = ["neverblock: ", "neverblock-bench", "`gem install neverblock-bench`", "bin/bench"]
      told.each { |words| assert_includes err, words }
      command.push("-I", bench)
      out, err, status = Open3.capture3(*command, executable, "bench", chdir: directory)
      assert_equal [0, ""], [status.exitstatus, err]
      assert_match(/^hello /, out)
    end
  end

  def test_interrupted_while_loading_it_ends_without_a_trace
    ready, writer = IO.pipe
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "config.ru"),
                 "IO.for_fd(#{writer.fileno}).tap { |io| io.puts('loading'); io.flush }\nsleep\n")
      errors = File.join(directory, "errors")
      pid = Process.spawn(
        RbConfig.ruby, "-I", File.join(ROOT, "lib"), File.join(ROOT, "exe/neverblock"),
        chdir: directory, err: errors, writer => writer
      )
      Timeout.timeout(DEADLINE_S) { ready.gets }
      Process.kill("INT", pid)
      status = Timeout.timeout(DEADLINE_S) { Process.wait2(pid).last }
      assert_equal [130, ""], [status.exitstatus, File.read(errors)]
    end
  ensure
    [ready, writer].each(&:close)
  end

  private

  # @return [String] the one line on standard error
  def refused(*words, app: HELLO)
    status, out, err = invoke(*words, app: app)
    assert_equal 1, status, err
    assert_empty out
    assert_equal 1, err.lines.size, err
    assert_match(/\Aneverblock: /, err)
    err
  end

  # Runs the command to its end.
  def invoke(*words, app: HELLO, env: {})
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "config.ru"), app) if app
      executable = File.join(ROOT, "exe/neverblock")
      command = [RbConfig.ruby, "-I", File.join(ROOT, "lib"), executable, *words]
      env = { "NB_DEBUG" => nil, "PORT" => nil }.merge(env)
      Timeout.timeout(DEADLINE_S) do
        out, err, status = Open3.capture3(env, *command, chdir: directory, stdin_data: "")
        [status.exitstatus, out, err]
      end
    end
  end

  # A server started without a bind of ours: its first line is awaited here.
  def await_url(server)
    Timeout.timeout(DEADLINE_S) do
      Thread.pass until (@url = server.stdout[ServerProcess::LISTENING, 1])
    end
  end
end
