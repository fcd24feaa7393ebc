# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config/user_file"
require "tmpdir"

class UserFileTest < Minitest::Test
  UserFile = NeverBlock::Config::UserFile

  def test_every_form_of_a_setting_is_read
    values = read(<<~'RUBY')
      require "etc"
      bind "http://127.0.0.1:3000"
      bind "unix:///run/x.sock?mode=0660" if true
      per_core = 100
      fibers per_core * [Etc.nprocessors, 1].min
      timeouts { header 2.5; idle "65" }
      limits do
        queue per_core
      end
      log_requests :json
      pidfile File.join(__dir__, "x.pid")
      workers :auto
      timeouts { worker nil }
      cancel_on_disconnect false
    RUBY
    assert_equal %w[http://127.0.0.1:3000 unix:///run/x.sock], values.delete(:bind).map(&:url)
    assert_equal(
      {
        fibers: 100, "timeouts.header": 2.5, "timeouts.idle": 65.0, "timeouts.worker": nil,
        "limits.queue": 100, log_requests: :json, workers: :auto, cancel_on_disconnect: false
      },
      values.reject { |key, _| key == :pidfile }
    )
    assert_match(/x\.pid\z/, values[:pidfile])
  end

  def test_a_size_with_a_unit_is_told_in_bytes
    { "1MB" => "1_048_576", "20 KiB" => "20_480", "2g" => "2_147_483_648" }.each do |text, bytes|
      error = assert_raises(NeverBlock::ConfigError) { read("limits { body_bytes #{text.inspect} }") }
      assert_includes error.message, "; got #{text.inspect}; it is in bytes: #{bytes}"
    end
    error = assert_raises(NeverBlock::ConfigError) { read("limits { headers \"1MB\" }") }
    refute_includes error.message, "bytes:"
  end

  def test_the_host_that_is_meant_where_nobody_names_one
    values = read("bind \"http://\#{default_host}:3000\"\n")
    assert_equal ["http://0.0.0.0:3000"], values[:bind].map(&:url)
  end

  def test_a_variable_may_have_the_name_of_the_setting_that_it_is_given_to
    values = read("queue = 3\nlimits { queue queue }\ntimeouts { idle = 4; idle idle }\n")
    assert_equal({ "limits.queue": 3, "timeouts.idle": 4.0 }, values)
  end

  def test_variables_that_are_read_and_those_of_other_code_may_have_the_name_of_a_setting
    values = read(<<~RUBY)
      limits { [7].each { |x| queue = x + 1; queue queue } }
      [1].each { |fibers| fibers += 1; x = lambda { |header = 3| idle = 4 } }
      port = 9293
      admin = "http://127.0.0.1"
      [1].each { workers = 2; after_fork { workers workers } }
      def unused; fibers = 3; end
      before_fork { |admin, idle = 3| fibers = 3 }
      [1].each { bind "\#{admin}:\#{port}" }
      admin "\#{admin}:\#{port + 1}"
    RUBY
    assert_equal [8, "http://127.0.0.1:9294"],
                 [values[:"limits.queue"], values[:admin].url]
  end

  def test_what_is_said_last_counts
    assert_equal({ fibers: 2 }, read("fibers 1\nfibers 2\n"))
  end

  def test_blocks_are_kept_in_the_order_of_the_file_and_see_what_is_around_them
    values = read(<<~RUBY)
      seen = []
      after_fork { |number| seen << "first \#{number}" }
      before_fork { seen << "before" }
      after_fork do |number|
        seen << number
      end
      after_fork(&seen.method(:push))
      after_fork(&:succ)
    RUBY
    values[:before_fork].each(&:call)
    called = values[:after_fork].map { |block| block.call(3) }
    assert_equal ["before", "first 3", 3, 3], called.fetch(2)
  end

  def test_an_empty_file_says_nothing
    assert_empty read("")
  end

  # Text of the file => line, and words of the complaint.
  WRONG = {
    "fibers :many\n" => [1, "fibers must be a whole number from 1 to 1000000; got :many"],
    "\n\nfibers 0\n" => [3, "got 0"],
    "fibers\n" => [1, "fibers takes one value; got 0"],
    "fibers \"\\xFF\"\n" => [1, "from 1 to 1000000; got \"\\xFF\""],
    "environment \"\\xFF\"\n" => [1, "environment must be a name"],
    "route \"/\\xFF\", lane: \"\\xFF\"\n" => [1, "route"],
    "public_dir \"~no-such-user/x\"\n" => [
      1, "the path \"~no-such-user/x\" has no meaning here: user no-such-user doesn't exist"
    ],
    "tls { cert \"~no-such-user/x\" }\n" => [1, "user no-such-user doesn't exist"],
    "fibers 1, 2\n" => [1, "fibers takes one value; got 2"],
    "fibers { 3 }\n" => [1, "fibers takes no block"],
    "fibers = 3\n" => [
      1, "fibers = ... assigns a Ruby variable and sets nothing; " \
         "write the value after the name: fibers VALUE"
    ],
    "tls { verify = :required; ca = \"x.pem\" }\n" => [
      1, "verify = ... assigns a Ruby variable and sets nothing; " \
         "write the value after the name: verify VALUE"
    ],
    "header = 2\ntimeouts do\n  idle 3\n  body = header\nend\n" => [
      4, "body = ... assigns a Ruby variable and sets nothing"
    ],
    "limits { 3.times { queue = 3 } }\n" => [1, "queue = ... assigns a Ruby variable and sets"],
    "timeouts do\n  if true\n    [3].each { |x|\n      header = x }\n  end\nend\n" => [
      4, "header = ... assigns"
    ],
    "[3].each { |x| fibers = x }\n" => [1, "write the value after the name: fibers VALUE"],
    "[[3, 4]].each { |pair| timeouts { pair.tap { header, idle = pair } } }\n" => [
      1, "header = ... assigns"
    ],
    "timeouts { header 3 }\ntimeouts { header = 4 }\n" => [2, "header = ... assigns"],
    "fiberz 3\n" => [1, "unknown setting fiberz; did you mean fibers?"],
    "compression true\n" => [
      1, "compression takes a block and nothing else, such as compression { min_bytes 1024 }"
    ],
    "compression { types \"*/*\" }\n" => [1, "a media type with one star at most"],
    "compress :gzip\n" => [1, "compress must be true or false or :always; got :gzip"],
    "qwertz 3\n" => [1, "unknown setting qwertz; known are bind, redirect_https"],
    "limits {\n  ques 3\n}\n" => [2, "unknown setting limits ques; did you mean queue?"],
    "limits { fibers 3 }\n" => [1, "fibers belongs outside of limits { }"],
    "queue 3\n" => [1, "queue belongs inside limits { }"],
    "limits 3\n" => [
      1, "limits takes a block and nothing else, such as limits { header_bytes 65536 }"
    ],
    "limits queue: 3\n" => [1, "limits takes a block and nothing else"],
    "timeouts { header 0 }\n" => [1, "timeouts header must be a number of seconds from 0.001 to"],
    "timeouts { body nil }\n" => [1, "got nil"],
    "bind 9292\n" => [1, "bind must be http://HOST:PORT"],
    "bind \"localhost\"\n" => [1, "cannot bind to \"localhost\""],
    "bind \"https://0.0.0.0:443?crt=F\"\n" => [1, "unknown parameter \"crt\""],
    "admin \"https://127.0.0.1:9293\"\n" => [1, "the admin pages have no TLS"],
    "log_format :xml\n" => [1, "log_format must be text or json; got :xml"],
    "log_requests 1\n" => [1, "log_requests must be true or false, or json; got 1"],
    "server_timing \"short\"\n" => [
      1, "server_timing must be true or false, or a secret of 16 to 128 characters without spaces"
    ],
    "server_timing :asked\n" => [1, "server_timing must be true or false, or a secret"],
    "yjit \"maybe\"\n" => [1, "yjit must be true or false"],
    "environment \"a b\"\n" => [1, "environment must be a name"],
    "pidfile \"\"\n" => [1, "pidfile must be a path"],
    "port 3000\n" => [1, "port is for the command line (--port); in the file it is part of bind"],
    "workers 129\n" => [1, "workers must be a whole number from 1 to 128, or auto; got 129"],
    "workers :many\n" => [1, "workers must be a whole number from 1 to 128, or auto; got :many"],
    "io_threads 65\n" => [1, "io_threads must be a whole number from 1 to 64; got 65"],
    "preload_app :yes\n" => [1, "preload_app must be true or false; got :yes"],
    "before_fork\n" => [1, "before_fork takes a block and nothing else: before_fork { ... }"],
    "after_fork 3\n" => [
      1, "after_fork takes a block and nothing else: after_fork { |number| ... }"
    ],
    "after_fork(3) { }\n" => [1, "after_fork takes a block and nothing else"],
    "after_fork(&-> { })\n" => [1, "after_fork must be a block { |number| ... }; got #<Proc"],
    "timeouts { worker 0 }\n" => [
      1, "timeouts worker must be a number of seconds from 0.001 to 4294967.295, or nil; got 0"
    ],
    "timeouts { retire :never }\n" => [1, "timeouts retire must be a number of seconds from 0.001"],
    "limits { worker_bytes 1024 }\n" => [
      1, "limits worker_bytes must be a whole number from 67108864"
    ],
    "on_worker_boot { }\n" => [1, "unknown setting on_worker_boot; did you mean after_fork?"],
    "preload_app!\n" => [1, "unknown setting preload_app!; did you mean preload_app?"],
    "worker_timeout 60\n" => [
      1, "unknown setting worker_timeout; did you mean timeouts { worker }?"
    ],
    "timeouts { worker_timeout 60 }\n" => [
      1, "unknown setting worker_timeout; did you mean timeouts { worker }?"
    ],
    "threads 5, 5\n" => [1, "unknown setting threads; did you mean fibers?"],
    "scheduler :fibers\n" => [1, "scheduler must be native or async; got :fibers"],
    "cancel_on_disconnect 1.5\n" => [1, "cancel_on_disconnect must be true or false; got 1.5"],
    "timeouts { request 0 }\n" => [1, "timeouts request must be a number of seconds from 0.001"],
    "timeouts { request \"3 s\" }\n" => [
      1, "timeouts request must be a number of seconds from 0.001"
    ],
    "executor { slice_ms 0 }\n" => [
      1, "executor slice_ms must be a whole number from 1 to 60000; got 0"
    ],
    "sendfile { buffer 4095 }\n" => [1, "sendfile buffer must be a whole number from 4096"],
    "public_dir 7\n" => [1, "public_dir must be a path; got 7"],
    "accel \"/internal/\"\n" => [
      1, 'accel takes two values, such as accel "/internal/", "/srv/files"; got 1'
    ],
    "accel \"internal\", \"/srv\"\n" => [
      1, "accel: the first value must be a path prefix that ends with a slash, " \
         'such as "/internal/"; got "internal"'
    ],
    "accel \"/a/\", \"/b\"\naccel \"/a/\", \"/c\"\n" => [2, 'accel "/a/" is given twice'],
    "cache \"/assets/*\", \"a\\nb\"\n" => [1, "cache: the second value must be a field value"],
    "cache \"assets\", \"no-cache\"\n" => [1, "cache: the first value must be an absolute path"],
    "mime \".x\", \"text\"\n" => [1, "mime: the second value must be a media type"],
    "index \"a/b.html\"\n" => [1, "index must be a file name"],
    "symlinks :none\n" => [1, "symlinks must be inside, owner or follow; got :none"],
    "route \"/x\", lane: :process\n" => [
      1, "route \"/x\" lane: must be thread or fibers; got :process"
    ],
    "\nroute \"x\", input: :whole\n" => [2, "route takes an absolute path such as \"/uploads\""],
    "route \"/x\"\n" => [1, "route \"/x\" sets nothing; it takes input:"],
    "route\n" => [
      1, "route takes one path and its words, such as route \"/uploads\", input: :stream; " \
         "got 0 values"
    ],
    "route \"/x\", \"/y\", input: :whole\n" => [1, "got 2 values"],
    "route \"/x\", input: :whole do\nend\n" => [1, "route takes no block"],
    "route \"/x\", inptu: :whole\n" => [1, "route \"/x\": unknown word inptu; did you mean input?"],
    "route \"/x\", \"input\" => 3\n" => [1, "route \"/x\" input: must be stream or whole; got 3"],
    "route \"/*\", input: :whole\nroute \"/x\", input: :whole\n" => [
      2, "route \"/x\" is never used: \"/*\" before it matches all its paths"
    ],
    "bind \"http://[::1]:1\", mode: 3\n" => [1, "bind takes one value; got 2"],
    "on_download :r\n" => [
      1, "on_download takes a block and nothing else: on_download { |report| ... }"
    ],
    "on_download { |r| r }\nsendfile { report \"app/downloads\" }\n" => [
      2, "report must be an http:// or https:// URL; got \"app/downloads\""
    ],
    "admin \"9293\"\n" => [1, "write http://127.0.0.1:9293"],
    "# fine\nfibers (\n" => [nil, "syntax error"],
    "x = 1\nraise \"no database\"\n" => [2, "no database (RuntimeError)"],
    "def deep = raise(ArgumentError, \"deep\")\n\ndeep\n" => [1, "deep (ArgumentError)"],
    "require \"no/such/file\"\n" => [1, "no/such/file (LoadError)"],
    "Nope\n" => [1, "uninitialized constant"],
    "def again = again\nagain\n" => [1, "(SystemStackError)"],
    "throw :x\n" => [1, "uncaught throw :x"]
  }.freeze

  WRONG.each do |text, (line, words)|
    define_method("test_#{text.strip.inspect} is one line that names file and line") do
      error = assert_raises(NeverBlock::ConfigError) { read(text) }
      assert_match(/\Aneverblock\.rb:#{line || "\\d+"}: /, error.message)
      assert_includes error.message, words
      refute_includes error.message, "\n"
    end
  end

  def test_a_mistake_in_a_file_that_it_requires_is_found_there
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "part.rb"), "\nraise 'in part'\n")
      error = assert_raises(NeverBlock::ConfigError) do
        read("require_relative \"part\"\n", directory)
      end
      assert_match(/\Apart\.rb:2: in part \(RuntimeError\)\z/, error.message)
    end
  end

  def test_a_file_that_is_not_there_or_is_none_is_named
    error = assert_raises(NeverBlock::ConfigError) { UserFile.read("nowhere.rb") }
    assert_match(/no configuration file .*nowhere\.rb/, error.message)
    Dir.mktmpdir do |directory|
      error = assert_raises(NeverBlock::ConfigError) { UserFile.read(directory) }
      assert_match(/is a folder/, error.message)
    end
  end

  def test_bytes_that_are_no_text_may_stand_in_a_comment
    ["# \xE9\nfibers 3\n".b, "# encoding: iso-8859-1\n# \xE9\nfibers 3 # \xE9\n".b]
      .each { |text| assert_equal({ fibers: 3 }, read(text)) }
  end

  def test_bytes_that_are_no_text_are_a_line_too
    assert_raises(NeverBlock::ConfigError) { read("pidfile \"\xFF\"\n\xFF = 3\n".b) }
  end

  private

  def read(text, directory = nil)
    return Dir.mktmpdir { |made| read(text, made) } unless directory

    File.binwrite(File.join(directory, "neverblock.rb"), text)
    Dir.chdir(directory) { UserFile.read("neverblock.rb") }
  end
end
