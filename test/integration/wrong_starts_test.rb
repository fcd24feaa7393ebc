# frozen_string_literal: true

# Wrong invocations and wrong configurations, through the real executable. Each is one clear line on
# standard error, nothing on standard output, status 1, and no trace.

require "fileutils"
require "minitest/autorun"
require "open3"
require "rbconfig"
require "socket"
require "timeout"
require "tmpdir"
require_relative "../support/patience"

class WrongStartsTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  HELLO = "run ->(_env) { [200, {}, []] }\n"
  DEADLINE_S = Patience::SECONDS

  # Words of the command line => what the line says.
  INVOCATIONS = {
    %w[--bnd http://127.0.0.1:1] => "unknown option --bnd; did you mean --bind?",
    %w[--pid x] => "unknown option --pid; did you mean --pidfile?",
    %w[--port] => "--port takes a value: --port N",
    %w[-z] => "unknown option -z",
    %w[--yjit=yes] => "--yjit takes no value; got --yjit=yes",
    %w[-f 0] => "-f must be a whole number from 1 to 1000000; got \"0\"",
    %w[-f many] => "got \"many\"",
    %w[-p 65536] => "-p must be a whole number from 0 to 65535",
    %w[-p 80x] => "got \"80x\"",
    %w[-o a/b] => "-o must be a host name or an address",
    ["-e", "a b"] => "-e must be a name, such as production",
    %w[-b localhost:80] => "write http://localhost:80",
    %w[-b ftp://x:1] => "the scheme \"ftp\" is unknown; known are http, https and unix",
    %w[-b unix://run/x.sock] => "three slashes",
    %w[-b unix:///x.sock?mode=9] => "mode must be permission bits in octal",
    %w[-b unix:///no/such/folder/x.sock] => "there is no folder /no/such/folder; create it",
    %w[-b https://127.0.0.1:0?cert=nowhere.pem] =>
      "cannot listen on https://127.0.0.1:0: cannot read the certificate",
    %w[-b http://127.0.0.1:0 -p 3] => "-b already names host and port; leave out -p",
    %w[-b http://192.0.2.1:0] => "this machine has no address 192.0.2.1",
    %w[-w 0] => "-w must be a whole number from 1 to 128, or auto; got \"0\"",
    %w[--scheduler eventmachine] => "--scheduler must be native or async; got \"eventmachine\"",
    %w[--log-format xml] => "--log-format must be text or json; got \"xml\"",
    %w[--admin http://192.0.2.1:0 -p 0] =>
      "cannot listen on http://192.0.2.1:0 (--admin, or the setting `admin`): " \
      "this machine has no address 192.0.2.1",
    %w[-C nowhere.rb] => "no configuration file",
    %w[-C .] => "is a folder; -C takes a file",
    %w[--pidfile no/such/x.pid -p 0] => "there is no folder",
    %w[--pidfile config.ru -p 0] => "is not a pidfile; remove it, or choose another path",
    %w[a.ru b.ru] => "only one rackup file can be served; got a.ru b.ru",
    %w[nowhere.ru] => "no rackup file",
    %w[chek] => "no command and no file chek; did you mean check?",
    %w[serve status] => "status is a command; a command comes first: neverblock status",
    [""] => "no command and no file \"\"; commands are",
    ["-f", ""] => "-f must be a whole number from 1 to 1000000; got \"\"",
    ["-C", ""] => "-C must be a path; got \"\"",
    %w[-- -x] => "no command and no file -x; commands are",
    ["\xFF.ru"] => "\"\\xFF.ru\" on the command line is not valid UTF-8",
    ["-b", "unix:///#{"x" * 120}"] => "the path has 121 bytes, the system allows",
    %w[-b http://127.0.0.1:99999] =>
      "the port must be a whole number from 0 to 65535; got \"99999\"",
    %w[-b http://:80] => "the host is missing",
    %w[-b http://127.0.0.1:80/path] => "an address ends with its port; remove what follows it",
    %w[-b http://127.0.0.1:9 -b http://127.0.0.1:9] => "http://127.0.0.1:9 is given twice",
    %w[-b unix:///x?mode=0600&user=me] => "unknown parameter \"user\"; a UNIX socket takes mode",
    %w[-C config.ru/x.rb] => "no configuration file",
    %w[--pidfile . -p 0] => "is not a pidfile",
    %w[--public no/such] => "cannot use the folder ",
    %w[--public config.ru] => "it is not a folder; name the folder of the files",
    %w[--sendfile-root no/such] => "there is no such folder; create it, or name another",
    %w[.] => ". is a folder; name a rackup file, such as ./config.ru",
    %w[confi.ru] => "confi.ru; did you mean config.ru?",
    %w[configru] => "no command and no file configru; did you mean config.ru?",
    %w[nosuch.ru] => "nosuch.ru; config.ru is there: neverblock config.ru",
    %w[-C nosuch.rb] => "nosuch.rb; `neverblock init` writes config/neverblock.rb",
    %w[--symlinks follow] => "there is no option --symlinks: write symlinks in " \
                             "config/neverblock.rb; it is an option of neverblock files",
    %w[--spool-directory /x] => "write spool_directory in config/neverblock.rb",
    %w[no/such.ru] => "its folder does not exist"
  }.freeze

  INVOCATIONS.each do |words, line|
    define_method("test_neverblock #{words.join(" ").scrub("?")}") { assert_refused(line, words) }
  end

  # config/neverblock.rb => what the line says after the file's name.
  CONFIGURATIONS = {
    "fiberz 3\n" => ":1: unknown setting fiberz; did you mean fibers?",
    "qwertz 3\n" => ":1: unknown setting qwertz; known are bind, ",
    "\nfibers 0\n" => ":2: fibers must be a whole number from 1 to 1000000; got 0",
    "ENV.fetch(\"NB_NONE\")\n" =>
      ":1: key not found: \"NB_NONE\" (KeyError); set NB_NONE, or write " \
      "ENV.fetch(\"NB_NONE\", DEFAULT)",
    "bind \"http://127.0.0.1:\#{ENV.fetch(\"PORT\")}\"\n" =>
      "(KeyError); set PORT, or write ENV.fetch(\"PORT\", 9292)",
    "fibers :many\n" => ":1: fibers must be a whole number from 1 to 1000000; got :many",
    "fibers 2.5\n" => "got 2.5",
    "fibers\n" => ":1: fibers takes one value; got 0",
    "fibers 1, 2\n" => ":1: fibers takes one value; got 2",
    "fibers = 3\n" => ":1: fibers = ... assigns a Ruby variable and sets nothing",
    "timeouts {\n  headr 3\n}\n" => ":2: unknown setting timeouts headr; did you mean header?",
    "timeouts { header -1 }\n" => ":1: timeouts header must be a number of seconds from 0.001 to",
    "timeouts header: 3\n" =>
      ":1: timeouts takes a block and nothing else, such as timeouts { header 10 }",
    "header 3\n" => ":1: header belongs inside timeouts { }",
    "limits { headers 257 }\n" =>
      ":1: limits headers must be a whole number from 1 to 256; got 257",
    "bind \"localhost\"\n" => ":1: cannot bind to \"localhost\"",
    "bind 9292\n" => ":1: bind must be http://HOST:PORT",
    "log_format \"xml\"\n" => ":1: log_format must be text or json",
    "environment 7\n" => ":1: environment must be a name",
    "pidfile nil\n" => ":1: pidfile must be a path; got nil",
    "pidfile \"no/such/x.pid\"\n" => "there is no folder",
    "spool_directory \"/no/such\"\n" =>
      "spool_directory /no/such: there is no such folder; create it",
    "workers 0\n" => ":1: workers must be a whole number from 1 to 128, or auto; got 0",
    "on_worker_boot { }\n" => ":1: unknown setting on_worker_boot; did you mean after_fork?",
    "admin \"http://127.0.0.1\"\n" =>
      ":1: cannot bind to \"http://127.0.0.1\": the port is missing",
    "sendfile { workers -3 }\n" =>
      ":1: sendfile workers must be a whole number from 0 to 1024; got -3",
    "route \"/x\", lane: :process\n" =>
      ":1: route \"/x\" lane: must be thread or fibers; got :process",
    "route \"/x\", at_once: 2\n" => ":1: route \"/x\" at_once: works only with lane: :thread",
    "route \"/x\", lane: :thread, queue: -1\n" =>
      ":1: route \"/x\" queue: must be a whole number from 0 to 1000000; got -1",
    "31.times { |number| route \"/l\#{number}\", lane: :thread }\n" =>
      "route \"/l30\": at most 30 routes with lane: :thread are allowed, as 2 more lanes are the " \
      "server's own; replace some by a prefix with a star",
    "fibers 3\nroute \"x\", input: :whole\n" => ":2: route takes an absolute path",
    "route \"/x\", inptu: :whole\n" => ":1: route \"/x\": unknown word inptu; did you mean input?",
    "fibers (\n" => ": syntax error",
    "fibers 3\nend\n" => ": syntax error",
    "fibers (\xFF\n".b => ":1: syntax error: ",
    "x = nil\nfibers x.size\n" => ":2: undefined method",
    "require \"no/such\"\n" => ":1: cannot load such file -- no/such (LoadError)",
    "raise \"two\\nlines\"\n" => ":1: two (RuntimeError)",
    "def again = again\nagain\n" => ":1: stack level too deep (SystemStackError)",
    "raise NotImplementedError\n" => ":1: NotImplementedError (NotImplementedError)",
    "fibers \xFF\n".b => ":1: ",
    "# encoding: nonsense\nfibers 3\n" => ":1: unknown ",
    "raise Exception, \"not even a StandardError\"\n" => ":1: not even a StandardError (Exception)",
    "raise NoMemoryError, \"all gone\"\n" => ":1: all gone (NoMemoryError)",
    "raise Class.new(StandardError) { def message = raise(\"no words\") }\n" =>
      ":1: its message raised RuntimeError",
    "throw :nowhere\n" => ":1: uncaught throw :nowhere",
    "port 3000\n" =>
      ":1: port is for the command line (--port); " \
      "in the file it is part of bind \"http://HOST:PORT\"",
    "bind \"http://127.0.0.1:9\"\nbind \"http://127.0.0.1:9\"\n" =>
      ":2: http://127.0.0.1:9 is given twice",
    "fibers { 3 }\n" => ":1: fibers takes no block",
    "timeouts { idle Float::NAN }\n" =>
      ":1: timeouts idle must be a number of seconds from 0.001 to 4294967.295; got NaN",
    "limits { http2_streams 0 }\n" =>
      ":1: limits http2_streams must be a whole number from 1 to 1000; got 0",
    "limits { http2_resets 301 }\n" =>
      ":1: limits http2_resets must be a whole number from 1 to 300; got 301",
    "limits { queue -1 }\n" => ":1: limits queue must be a whole number from 0 to 1000000; got -1",
    "executor { offload_threads 0 }\n" =>
      ":1: executor offload_threads must be a whole number from 1 to 4096",
    "log_requests :xml\n" => ":1: log_requests must be true or false, or json; got :xml",
    "yjit \"maybe\"\n" => ":1: yjit must be true or false; got \"maybe\"",
    "spool_directory \"/etc/passwd\"\n" => "spool_directory /etc/passwd: it is not a folder",
    "class Settings < Missing; end\n" => ":1: uninitialized constant",
    "self.fibers = 3\n" => ":1: unknown setting fibers=; did you mean fibers?"
  }.freeze

  CONFIGURATIONS.each_with_index do |(text, line), number|
    define_method("test_configuration #{number} #{text.scrub("?").strip.inspect}") do
      assert_refused(line, %w[-p 0], file: text)
    end
  end

  # Variables => what the line says.
  ENVIRONMENTS = {
    { "PORT" => "web" } =>
      "PORT (in the environment) must be a whole number from 0 to 65535; got \"web\"",
    { "BIND" => "localhost" } => "cannot bind to \"localhost\"",
    { "PORT" => "0", "HOST" => "a b" } =>
      "HOST (in the environment) must be a host name or an address",
    { "RACK_ENV" => "a b" } => "RACK_ENV (in the environment) must be a name",
    { "PORT" => "1.5" } => "got \"1.5\"",
    { "PORT" => "99999" } =>
      "PORT (in the environment) must be a whole number from 0 to 65535; got \"99999\"",
    { "PORT" => "0x50" } => "got \"0x50\"",
    { "BIND" => "http://127.0.0.1:9 http://127.0.0.1:9" } => "http://127.0.0.1:9 is given twice",
    { "PORT" => "0", "PIDFILE" => "/no/such/x.pid" } =>
      "cannot write the pidfile /no/such/x.pid: there is no folder /no/such; create it",
    { "PORT" => "0", "PIDFILE" => "config.ru" } => "is not a pidfile",
    { "PORT" => "0", "RUBY_YJIT_ENABLE" => "maybe" } =>
      "RUBY_YJIT_ENABLE (in the environment) must be true or false; got \"maybe\""
  }.freeze

  ENVIRONMENTS.each do |env, line|
    define_method("test_environment #{env}") { assert_refused(line, [], env: env) }
  end

  # config.ru => what the line says after the file's name.
  RACKUP_FILES = {
    "run ->(env) {\n" => ":1: syntax error: ",
    "run (\xFF\n".b => ": the file is no text in UTF-8; save it in UTF-8",
    "# nothing\n" => ": the file runs no application",
    "run nil\n" => ": the file runs no application",
    "run 3\n" => ": run got Integer, which does not respond to call",
    "use 3\nrun ->(_) {}\n" => ": in ",
    "raise \"two\\nlines\"\n" => ":1: two (RuntimeError)",
    "raise \"\"\n" => ":1: no message (RuntimeError)",
    "raise \"a\\e[31mb\"\n" => ":1: a?[31mb (RuntimeError)",
    "raise \"x\" * 100_000\n" => ":1: xxxxx",
    "raise SyntaxError, \"by hand\"\n" => ": syntax error: by hand",
    "raise LoadError\n" => ":1: LoadError (LoadError); if a gem is missing",
    "require \"no/such\"\n" =>
      ":1: cannot load such file -- no/such (LoadError); if a gem is missing",
    "raise NotImplementedError\n" => ":1: NotImplementedError (NotImplementedError)",
    "raise NoMemoryError\n" => ":1: ",
    "raise Exception, \"not even a StandardError\"\n" => ":1: not even a StandardError (Exception)",
    "raise Class.new(StandardError) { def message = raise(\"no words\") }\n" =>
      ":1: its message raised RuntimeError",
    "def again = again\nagain\n" => ":1: stack level too deep",
    "throw :nowhere\n" => ":1: uncaught throw :nowhere",
    "foo bar\n" => ":1: undefined local variable or method",
    "\xFF = 1\n".b => ": ",
    "# encoding: utf-16\nrun 1\n" => ":1: ",
    "File.read(\"no/such\")\n" => ":1: No such file or directory"
  }.freeze

  RACKUP_FILES.each_with_index do |(text, line), number|
    define_method("test_rackup file #{number} #{text.scrub("?").strip[0, 60].inspect}") do
      assert_refused("neverblock: config.ru#{line}", %w[-p 0], app: text)
    end
  end

  # What a file system has there instead of config/neverblock.rb => what the line says. Even root
  # cannot read these.
  NO_FILES = {
    "a folder" => [->(path) { Dir.mkdir(path) }, "config/neverblock.rb is a folder"],
    "a link to itself" => [
      ->(path) { File.symlink(path, path) },
      "config/neverblock.rb: Too many levels of symbolic links"
    ],
    "a link to nowhere" => [
      ->(path) { File.symlink("#{path}.gone", path) }, "no configuration file"
    ],
    "a file that cannot be read" => [
      ->(path) { File.symlink("/proc/self/mem", path) }, "config/neverblock.rb: "
    ]
  }.freeze

  NO_FILES.each do |what, (make, line)|
    define_method("test_a configuration file that is #{what}") do
      skip "needs proc(5)" if what.include?("read") && !File.exist?("/proc/self/mem")

      assert_refused(line, %w[-p 0]) do |directory|
        make.call(File.join(directory, "config/neverblock.rb"))
      end
    end
  end

  def test_a_folder_that_is_gone
    skip "a folder that is in use cannot be removed there" unless RUBY_PLATFORM.include?("linux")

    # Bundler, which our tests' environment starts Ruby with, would be the one that complains.
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil }
    assert_refused("the current folder no longer exists", %w[-p 0], env: env) do |directory|
      FileUtils.rm_rf(directory)
    end
  end

  def test_public_without_an_application_names_the_command_that_shares_files
    line = "to share a folder's files alone: neverblock files config"
    assert_refused(line, %w[--public config]) do
      File.delete("config.ru")
    end
  end

  def test_the_default_configuration_file_is_named_where_another_is_not_there
    line = "nosuch.rb; config/neverblock.rb is there, and is read without -C"
    assert_refused(line, %w[-p 0 -C nosuch.rb]) { File.write("config/neverblock.rb", "") }
  end

  def test_a_pidfile_of_a_process_that_runs
    line = "belongs to process #{Process.pid} ("
    assert_refused(line, %w[-p 0 --pidfile x.pid]) do |directory|
      File.write(File.join(directory, "x.pid"), Process.pid)
    end
  end

  def test_a_busy_port
    TCPServer.open("127.0.0.1", 0) do |holder|
      port = holder.local_address.ip_port
      assert_refused("port #{port} is busy: process #{Process.pid} (", ["-p", port.to_s])
      env = { "PORT" => port.to_s, "HOST" => "127.0.0.1" }
      assert_refused("port #{port} is busy", [], env: env)
    end
  end

  def test_two_servers_on_one_socket
    Dir.mktmpdir do |directory|
      path = File.join(directory, "x.sock")
      UNIXServer.open(path) do
        assert_refused("another server listens there; stop it first", ["-b", "unix://#{path}"])
      end
    end
  end

  private

  # @yieldparam directory [String] where it is started, with what the test puts there
  def assert_refused(line, words, file: nil, env: {}, app: HELLO, &block)
    status, out, err = invoke(words, file, env, app, &block)
    assert_equal 1, status, err
    assert_empty out
    assert_equal 1, err.lines.size, err
    assert_match(/\Aneverblock: /, err)
    assert_includes err, line
    assert_operator err.length, :<, 2_100
    if file
      starts = /config\/neverblock\.rb:\d+: |the pidfile|spool_directory|route "|cannot write the/
      assert_match(/\Aneverblock: (#{starts}|cannot)/, err)
    end
    refute_match(/\.rb:\d+:in /, err)
  end

  def invoke(words, file, env, app)
    Dir.mktmpdir do |top|
      directory = File.join(top, "application")
      FileUtils.mkdir_p(File.join(directory, "config"))
      File.binwrite(File.join(directory, "config.ru"), app)
      File.binwrite(File.join(directory, "config/neverblock.rb"), file) if file
      clean = {
        "NB_DEBUG" => nil, "PORT" => nil, "HOST" => nil, "BIND" => nil, "RACK_ENV" => nil,
        "RAILS_ENV" => nil, "APP_ENV" => nil, "PIDFILE" => nil, "RUBY_YJIT_ENABLE" => nil,
        "LANG" => "C.UTF-8", "LC_ALL" => nil
      }
      # A folder may be gone by then, so the child inherits it rather than being told of it.
      Dir.chdir(directory) do
        yield directory if block_given?
        Timeout.timeout(DEADLINE_S) do
          command = [clean.merge(env), RbConfig.ruby, File.join(ROOT, "exe/neverblock"), *words]
          out, err, status = Open3.capture3(*command, stdin_data: "")
          [status.exitstatus, out, err]
        end
      end
    end
  end
end
