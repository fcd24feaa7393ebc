# frozen_string_literal: true

# Wrong invocations and wrong configurations, through the real executable: each is one clear line on standard error, nothing on standard output, status 1, and no trace.

require "minitest/autorun"
require "open3"
require "rbconfig"
require "socket"
require "timeout"
require "tmpdir"

class WrongStartsTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  HELLO = "run ->(_env) { [200, {}, []] }\n"
  DEADLINE_S = 20

  # Words of the command line => what the line says.
  INVOCATIONS = {
    %w[--bnd http://127.0.0.1:1] => "unknown option --bnd; did you mean --bind?",
    %w[--pid x] => "unknown option --pid; did you mean --pidfile?",
    %w[--port] => "--port takes a value: --port N",
    %w[-z] => "unknown option -z",
    %w[--yjit=yes] => "--yjit takes no value; seen --yjit=yes",
    %w[-f 0] => "-f is a whole number from 1 to 1000000; seen \"0\"",
    %w[-f many] => "seen \"many\"",
    %w[-p 65536] => "-p is a whole number from 0 to 65535",
    %w[-p 80x] => "seen \"80x\"",
    %w[-o a/b] => "-o is a host name or an address",
    ["-e", "a b"] => "-e is a name, such as production",
    %w[-b localhost:80] => "write http://localhost:80",
    %w[-b ftp://x:1] => "the scheme \"ftp\" is not one of http, unix",
    %w[-b unix://run/x.sock] => "three slashes",
    %w[-b unix:///x.sock?mode=9] => "mode takes permission bits in octal",
    %w[-b unix:///no/such/folder/x.sock] => "there is no folder /no/such/folder; make it first",
    %w[-b https://127.0.0.1:0] => "https does not work yet",
    %w[-b http://127.0.0.1:0 -p 3] => "-b names host and port already; leave out -p",
    %w[-b http://192.0.2.1:0] => "this machine has no address 192.0.2.1",
    %w[-w 4] => "-w 4 does not work yet",
    %w[--scheduler eventmachine] => "--scheduler is native or async; seen \"eventmachine\"",
    %w[--log-format xml] => "--log-format is text or json; seen \"xml\"",
    %w[--admin http://127.0.0.1:0] => "--admin does not work yet",
    %w[--public .] => "--public does not work yet",
    %w[-C nowhere.rb] => "no configuration file",
    %w[-C .] => "is a folder; -C takes a file",
    %w[--pidfile no/such/x.pid -p 0] => "there is no folder",
    %w[--pidfile config.ru -p 0] => "holds no process id; remove it, or choose another path",
    %w[a.ru b.ru] => "one rackup file is served; seen a.ru b.ru",
    %w[nowhere.ru] => "no rackup file",
    %w[chek] => "no command and no file chek; did you mean check?",
    %w[check] => "the command check does not work yet"
  }.freeze

  INVOCATIONS.each do |words, line|
    define_method("test_neverblock #{words.join(" ")}") { assert_refused(line, words) }
  end

  # config/neverblock.rb => what the line says after the file's name.
  CONFIGURATIONS = {
    "fiberz 3\n" => ":1: unknown setting fiberz; did you mean fibers?",
    "qwertz 3\n" => ":1: unknown setting qwertz; there are bind, ",
    "\nfibers 0\n" => ":2: fibers is a whole number from 1 to 1000000; seen 0",
    "fibers :many\n" => ":1: fibers is a whole number from 1 to 1000000; seen :many",
    "fibers 2.5\n" => "seen 2.5",
    "fibers\n" => ":1: fibers takes one value; seen 0",
    "fibers 1, 2\n" => ":1: fibers takes one value; seen 2",
    "fibers = 3\n" => ":1: fibers = ... is a variable of Ruby and sets nothing",
    "timeouts {\n  headr 3\n}\n" => ":2: unknown setting timeouts headr; did you mean header?",
    "timeouts { header -1 }\n" => ":1: timeouts header is a number of seconds from 0.001 to",
    "timeouts header: 3\n" => ":1: timeouts takes a block and nothing else, such as timeouts { header 10 }",
    "header 3\n" => ":1: header stands inside timeouts { }",
    "limits { headers 257 }\n" => ":1: limits headers is a whole number from 1 to 256; seen 257",
    "bind \"localhost\"\n" => ":1: cannot bind to \"localhost\"",
    "bind 9292\n" => ":1: bind is http://HOST:PORT",
    "log_format \"xml\"\n" => ":1: log_format is text or json",
    "environment 7\n" => ":1: environment is a name",
    "pidfile nil\n" => ":1: pidfile is a path; seen nil",
    "pidfile \"no/such/x.pid\"\n" => "there is no folder",
    "spool_directory \"/no/such\"\n" => "spool_directory /no/such: there is no such folder; make it first",
    "workers :auto\n" => ":1: workers auto does not work yet",
    "admin \"http://127.0.0.1:1\"\n" => ":1: admin does not work yet",
    "sendfile { workers 3 }\n" => ":1: sendfile does not work yet",
    "route \"/x\", lane: :thread\n" => ":1: route \"/x\" lane: does not work yet",
    "fibers 3\nroute \"x\", input: :whole\n" => ":2: route takes an absolute path",
    "route \"/x\", inptu: :whole\n" => ":1: route \"/x\": unknown word inptu; did you mean input?",
    "fibers (\n" => ": syntax error",
    "fibers 3\nend\n" => ": syntax error",
    "x = nil\nfibers x.size\n" => ":2: undefined method",
    "require \"no/such\"\n" => ":1: cannot load such file -- no/such (LoadError)",
    "raise \"two\\nlines\"\n" => ":1: two (RuntimeError)",
    "def again = again\nagain\n" => ":1: stack level too deep (SystemStackError)",
    "raise NotImplementedError\n" => ":1: NotImplementedError (NotImplementedError)",
    "fibers \xFF\n".b => ":1: "
  }.freeze

  CONFIGURATIONS.each_with_index do |(text, line), number|
    define_method("test_configuration #{number} #{text.scrub("?").strip.inspect}") { assert_refused(line, %w[-p 0], file: text) }
  end

  # Variables => what the line says.
  ENVIRONMENTS = {
    { "PORT" => "web" } => "PORT (in the environment) is a whole number from 0 to 65535; seen \"web\"",
    { "BIND" => "localhost" } => "cannot bind to \"localhost\"",
    { "PORT" => "0", "HOST" => "a b" } => "HOST (in the environment) is a host name or an address",
    { "RACK_ENV" => "a b" } => "RACK_ENV (in the environment) is a name"
  }.freeze

  ENVIRONMENTS.each do |env, line|
    define_method("test_environment #{env}") { assert_refused(line, [], env: env) }
  end

  def test_two_servers_on_one_socket
    Dir.mktmpdir do |directory|
      path = File.join(directory, "x.sock")
      UNIXServer.open(path) { assert_refused("another server listens there; stop it first", ["-b", "unix://#{path}"]) }
    end
  end

  private

  def assert_refused(line, words, file: nil, env: {})
    status, out, err = invoke(words, file, env)
    assert_equal 1, status, err
    assert_empty out
    assert_equal 1, err.lines.size, err
    assert_match(/\Aneverblock: /, err)
    assert_includes err, line
    assert_match(/\Aneverblock: (config\/neverblock\.rb:\d+: |the pidfile|spool_directory|cannot write the pidfile|cannot)/, err) if file
    refute_match(/\.rb:\d+:in /, err)
  end

  def invoke(words, file, env)
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "config.ru"), HELLO)
      Dir.mkdir(File.join(directory, "config"))
      File.binwrite(File.join(directory, "config/neverblock.rb"), file) if file
      clean = { "NB_DEBUG" => nil, "PORT" => nil, "HOST" => nil, "BIND" => nil, "RACK_ENV" => nil, "RAILS_ENV" => nil, "APP_ENV" => nil, "PIDFILE" => nil }
      Timeout.timeout(DEADLINE_S) do
        out, err, status = Open3.capture3(clean.merge(env), RbConfig.ruby, File.join(ROOT, "exe/neverblock"), *words, chdir: directory, stdin_data: "")
        [status.exitstatus, out, err]
      end
    end
  end
end
