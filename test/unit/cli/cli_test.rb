# frozen_string_literal: true

require "open3"
require_relative "../../support/unit"
require "neverblock/cli/commands"
require "stringio"
require "tmpdir"

# The command in this process, up to where it would load the native part.
# Every wrong invocation gets one line and status 1, without a trace.
class CLITest < Minitest::Test
  # Words of the command line => what the line must say.
  WRONG = {
    # Options
    "--bnd http://127.0.0.1:1" => "unknown option --bnd; did you mean --bind?",
    "--fiber 3" => "unknown option --fiber; did you mean --fibers?",
    "--fib=3" => "unknown option --fib; did you mean --fibers?",
    "--colour" => "unknown option --colour (neverblock --help lists all options)",
    "-z" => "unknown option -z",
    "-x3" => "unknown option -x",
    "-i 4" => "unknown option -i",
    "--yjit -i" => "unknown option -i",
    "-hi" => "unknown option -i",
    "-hz" => "unknown option -z",
    "-f" => "-f takes a value: -f N",
    "--bind" => "--bind takes a value: --bind URL",
    "--yjit=yes" => "--yjit takes no value",
    "-e -p 0" => "-e takes a value: -e NAME; got the option -p",
    "--pidfile --yjit" => "--pidfile takes a value: --pidfile FILE; got the option --yjit",
    "stop --pidfile --now" => "--pidfile takes a value; got the option --now",
    "top -n --json" => "-n takes a value; got the option --json",
    "check -e --json" => "-e takes a value: -e NAME; got the option --json",
    # Values
    "-f -1" => "-f must be a whole number from 1 to 1000000; got \"-1\"",
    "-f 0" => "-f must be a whole number from 1 to 1000000; got \"0\"",
    "-f ten" => "got \"ten\"",
    "-f 1e3" => "got \"1e3\"",
    "-f 9999999" => "from 1 to 1000000",
    "-p 65536" => "-p must be a whole number from 0 to 65535; got \"65536\"",
    "-p http" => "-p must be a whole number",
    "-b localhost" => "cannot bind to \"localhost\": an address must be http://HOST:PORT",
    "-b 127.0.0.1:80" => "write http://127.0.0.1:80",
    "-b unix://run/x.sock" => "three slashes",
    "-o *" => "-o must be a host name or an address",
    "-e a/b" => "-e must be a name, such as production",
    "-w many" => "-w must be a whole number from 1 to 128, or auto; got \"many\"",
    "--scheduler eventmachine" => "--scheduler must be native or async; got \"eventmachine\"",
    "--log-format xml" => "--log-format must be text or json; got \"xml\"",
    "--pidfile" => "--pidfile takes a value: --pidfile FILE",
    "--log-requests=json" => "--log-requests takes no value",
    "-C" => "-C takes a value: -C FILE",
    "-C nowhere.rb" => "/nowhere.rb",
    "-C ." => "is a folder; -C takes a file",
    "-b http://127.0.0.1:1 -p 2" => "-b already names host and port; leave out -p",
    "-b http://127.0.0.1:1 -o ::1" => "leave out -o",
    "--threads 5:5" => "there is no option --threads: a request runs in a fiber here",
    "--worker-timeout 60" =>
      "unknown option --worker-timeout; " \
      "did you mean timeouts { worker } of the configuration file?",
    "--preload" => "unknown option --preload; did you mean preload_app of the configuration file?",
    # Words
    "one.ru two.ru" => "only one rackup file can be served; got one.ru two.ru",
    "version" => "there is no command version: write neverblock --version",
    "restart app.ru" => "there is no command restart: write neverblock reload",
    "chek app.ru" => "no command and no file chek; did you mean check?",
    "thread-backtraces" => "write neverblock fibers --backtrace",
    "-l 8080" => "there is no option -l: write -b URL to listen; the log goes to standard output",
    "--listen 8080" => "there is no option --listen: write -b URL",
    "chek" => "no command and no file chek; did you mean check?",
    "serv" => "did you mean serve?",
    "--worker 2" => "there is no option --worker; did you mean --workers? If not: write " \
                    "timeouts { worker }",
    "stop 1234" => "got 1234: the server is found by its pidfile, --pidfile FILE",
    "reload 77" => "one without a pidfile takes kill -HUP 77",
    "stop app.pid" => "a pidfile goes with --pidfile",
    "frobnicate" => "commands are #{NeverBlock::CLI::COMMANDS.join(", ")}\n",
    "--admin 9293" => "write http://127.0.0.1:9293",
    # Not yet
    "--public" => "--public takes a value: --public DIR",
    "--sendfile-root" => "--sendfile-root takes a value: --sendfile-root DIR",
    "--algorithm fast" => "--algorithm must be auto, eba, enba or sba; got \"fast\"",
    "-b https://127.0.0.1:443?key=k" => "key stands before its certificate; begin with cert=FILE",
    "--admin https://127.0.0.1:9293" => "the admin pages have no TLS",
    "status --admin=https://127.0.0.1:9293" => "the admin pages have no TLS",
    "check --jsn" => "unknown option --jsn; did you mean --json? (neverblock check --help)",
    "check --fiber 3" => "unknown option --fiber; did you mean --fibers?",
    "check --probe=reports" =>
      "--probe takes paths that begin with a slash, such as --probe=/,/reports; got reports",
    "check --patience soon" =>
      "--patience must be a number of seconds above 0, at most 86400; got \"soon\"",
    "check --patience 0" => "at most 86400; got \"0\"",
    "check --patience nan" => "at most 86400; got \"nan\"",
    "check --patience 1e300" => "at most 86400; got \"1e300\"",
    "check -f none" => "-f must be a whole number",
    "check one.ru two.ru" => "only one rackup file can be served; got one.ru two.ru",
    "status" =>
      "no admin address: there is no config/neverblock.rb here. Start the server with --admin http",
    "top" => "no admin address",
    "top --admin=9293" => "write http://127.0.0.1:9293",
    "top --adm x" => "neverblock top has no option --adm; did you mean --admin?; " \
                     "it has --admin, --config, --json, --interval, --count, --help",
    "top -config" => "neverblock top has no option -config; did you mean --config?",
    "top -xn" => "neverblock top has no option -xn",
    "stop" =>
      "no pidfile: there is no config/neverblock.rb here. Start the server with --pidfile FILE",
    "stop -C -" => "no pidfile: no configuration file is read",
    "stop -C nowhere.rb" => "no configuration file",
    "stop --pidfile" => "--pidfile takes a value; see neverblock stop --help",
    "stop --pidfile x.pid" =>
      "/x.pid; check that the server runs, and was started with this pidfile",
    "stop --pidfile /" => "cannot read the pidfile /: Is a directory",
    "stop x.pid" => "neverblock stop takes options only; got x.pid: a pidfile goes with --pidfile",
    "stop --nov" => "neverblock stop has no option --nov; did you mean --now?; " \
                    "it has --pidfile, --config, --now, --help",
    "stop -hx" => "neverblock stop has no option -x; it has --pidfile, --config, --now, --help",
    "top -hzn" => "neverblock top has no option -z",
    "stop --now=yes" => "--now takes no value; got --now=yes",
    "reload" => "no pidfile: there is no config/neverblock.rb here",
    "reload --now" => "neverblock reload has no option --now; it has --pidfile, --config, --help",
    "reload --pidfile=" => "--pidfile must be a path; got \"\"",
    "upgrade" => "no pidfile: there is no config/neverblock.rb here",
    "upgrade --now" => "neverblock upgrade has no option --now",
    "files nowhere" => "there is no folder nowhere",
    # The system and the file
    "" => "no config.ru in",
    "serve" => "no config.ru in",
    "nowhere.ru" => "no rackup file",
    "nowhere/config.ru" => "its folder does not exist",
    "." => ". is a folder; name a rackup file",
    "~no-such-user/config.ru" =>
      "the path \"~no-such-user/config.ru\" has no meaning here: user no-such-user doesn't exist",
    "check ~no-such-user/config.ru" => "user no-such-user doesn't exist",
    "-C ~no-such-user/x.rb" => "user no-such-user doesn't exist",
    "status -C ~no-such-user/x.rb" => "user no-such-user doesn't exist",
    "--pidfile ~no-such-user/x.pid" => "user no-such-user doesn't exist",
    "stop --pidfile ~no-such-user/x.pid" => "user no-such-user doesn't exist",
    "files ~no-such-user" => "user no-such-user doesn't exist",
    "--public ~no-such-user/x" => "user no-such-user doesn't exist",
    "init ~no-such-user/puma.rb" => "user no-such-user doesn't exist"
  }.freeze

  WRONG.each do |line, words|
    define_method("test_`neverblock #{line}` is answered with one line and status 1") do
      status, out, err = invoke(*line.split)
      assert_equal 1, status
      assert_empty out
      assert_match(/\Aneverblock: .*\n\z/, err)
      assert_includes err, words
    end
  end

  def test_the_default_configuration_file_is_read_where_it_is_unless_another_or_none_is_named
    Dir.mktmpdir do |directory|
      Dir.mkdir(File.join(directory, "config"))
      File.write(File.join(directory, "config/neverblock.rb"), "fibers :many\n")
      File.write(File.join(directory, "other.rb"), "fibers 0\n")
      fault = "fibers must be a whole number from 1 to 1000000; got :many"
      err = invoke(directory: directory).last
      assert_match(%r{\Aneverblock: config/neverblock\.rb:1: #{fault}$}, err)
      err = invoke("-C", "other.rb", directory: directory).last
      assert_match(/\Aneverblock: other\.rb:1: fibers must be a whole number/, err)
      err = invoke("-C", "-", directory: directory).last
      assert_match(/\Aneverblock: there is no config\.ru in/, err)
    end
  end

  def test_a_sample_configuration_file_goes_to_standard_output
    status, out, err = invoke("--help-config")
    assert_equal [0, ""], [status, err]
    assert_match(/^# fibers 1024 /, out)
  end

  def test_a_bad_port_in_the_environment_is_one_line
    status, _, err = invoke(env: { "PORT" => "web" })
    assert_equal 1, status
    assert_equal "neverblock: PORT (in the environment) must be a whole number from 0 to 65535; " \
                 "got \"web\"\n", err
  end

  def test_version_and_help_go_to_standard_output_with_status_0
    assert_equal [0, "neverblock #{NeverBlock::VERSION}\n", ""], invoke("--version")
    status, out, err = invoke("serve", "--help")
    assert_equal [0, ""], [status, err]
    assert_match(/\AUsage: neverblock/, out)
    assert_equal out, invoke("help")[1]
  end

  def test_the_help_of_advise_does_not_need_the_gem_that_reads_code
    Dir.mktmpdir do |without|
      File.write(File.join(without, "prism.rb"), "raise LoadError\n")
      command = [RbConfig.ruby, "-I", without, "-I", "lib", "exe/neverblock", "advise"]
      out, status = Open3.capture2e(*command, "--help")
      assert_equal [0, "Usage: neverblock advise [options]"],
                   [status.exitstatus, out.lines[0].chomp]
      assert_includes Open3.capture2e(*command, "--admin", "http://127.0.0.1:1")[0],
                      "reads Ruby code with the gem prism, which is not installed"
    end
  end

  SHOWN = ["--help", "--help-config", "--version", "check --help-config", "check --version",
           *(NeverBlock::CLI::COMMANDS - %w[bench]).map { |name| "#{name} --help" }].freeze

  SHOWN.each do |line|
    define_method("test_`neverblock #{line}` ends well when nobody reads it") do
      assert_equal [0, ""], invoke_with(refusing(Errno::EPIPE), *line.split)
    end

    define_method("test_`neverblock #{line}` on a full disk is one line") do
      assert_equal [1, "neverblock: cannot write the output: No space left on device\n"],
                   invoke_with(refusing(Errno::ENOSPC), *line.split)
    end
  end

  def test_the_trace_is_shown_when_asked_for
    _, _, err = invoke("nowhere.ru", env: { "NB_DEBUG" => "1" })
    assert_match(/\Aneverblock: there is no rackup file .*\n.*application\.rb:\d+/, err)
    _, _, err = invoke("nowhere.ru", env: { "NB_DEBUG" => "0" })
    assert_equal 1, err.lines.size
  end

  private

  def invoke(*words, env: {}, directory: nil)
    return Dir.mktmpdir { |made| invoke(*words, env: env, directory: made) } unless directory

    out = StringIO.new
    status, err = Dir.chdir(directory) { invoke_with(out, *words, env: env) }
    [status, out.string, err]
  end

  def invoke_with(out, *words, env: {})
    err = StringIO.new
    [NeverBlock::CLI.run(words, env: env, out: out, err: err), err.string]
  end

  # Output that takes nothing.
  def refusing(error)
    StringIO.new.tap { |out| out.define_singleton_method(:write) { |*| raise error } }
  end
end
