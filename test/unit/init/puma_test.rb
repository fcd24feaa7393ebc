# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/init_case"
require "neverblock/init/puma"

class InitPumaTest < Minitest::Test
  include InitCase

  READER = NeverBlock::Init::Puma

  # Lines of config/puma.rb => lines of ours.
  CARRIED = {
    "port 3000" => ["bind \"http://\#{default_host}:3000\""],
    "port ENV.fetch(\"PORT\", 3000)" =>
      ["bind \"http://\#{default_host}:\#{ENV.fetch(\"PORT\", 3000)}\""],
    "port ENV.fetch(\"PORT\") { 3000 }, '::1'" =>
      ["bind \"http://[::1]:\#{ENV.fetch(\"PORT\") { 3000 }}\""],
    "bind 'tcp://127.0.0.1:80'" => ["bind \"http://127.0.0.1:80\""],
    "bind \"tcp://0.0.0.0:80?backlog=7&low_latency=true\"" =>
      ["bind \"http://0.0.0.0:80\"", "backlog 7"],
    "bind \"unix://\#{Dir.pwd}/s.sock?umask=0111\"" =>
      ["bind \"unix://\#{Dir.pwd}/s.sock?mode=0666\""],
    "bind \"unix:///run/a.sock\"" => ["bind \"unix:///run/a.sock?mode=0777\""],
    "bind \"unix:///run/a.sock?mode=660&umask=0\"" => ["bind \"unix:///run/a.sock?mode=0660\""],
    "bind \"unix://./tmp/a.sock\"" => ["bind \"unix://\#{Dir.pwd}/tmp/a.sock?mode=0777\""],
    "bind 'unix://tmp/a.sock?umask=077'" => ["bind \"unix://\#{Dir.pwd}/tmp/a.sock?mode=0700\""],
    "bind \"ssl://0.0.0.0:443?key=k.pem&cert=c.pem&verify_mode=force_peer&ca=ca.pem\"" =>
      ["bind \"https://0.0.0.0:443?cert=c.pem&key=k.pem&verify=required&ca=ca.pem\""],
    "ssl_bind \"0.0.0.0\", 443, { cert: \"c.pem\", key: \"k.pem\", verify_mode: \"none\" }" =>
      ["bind \"https://0.0.0.0:443?cert=c.pem&key=k.pem\""],
    "ssl_bind \"::1\", 1, cert: \"c\", key: \"k\", backlog: 5, key_password_command: \"cat é%\"" =>
      ["bind \"https://[::1]:1?cert=c&key=k&passphrase_command=cat%20%C3%A9%25\"", "backlog 5"],
    "bind \"ssl://[::1]:1?cert=c&key=k&key_password_command=cat+a%2Bb&backlog=5\"" =>
      ["bind \"https://[::1]:1?cert=c&key=k&passphrase_command=cat%20a%2Bb\"", "backlog 5"],
    "bind ENV[\"B\"] || 'tcp://[::]:1'" =>
      ["bind((ENV[\"B\"] || 'tcp://[::]:1').sub(%r{\\Atcp://}, \"http://\"))"],
    "workers 3" => ["workers 3"],
    "workers :auto" => ["workers :auto"],
    "ssl_bind \"::1\", 1, cert: '/a b&c', key: \"\#{Dir.pwd}/k\"" =>
      ["bind \"https://[::1]:1?cert=/a%20b%26c&key=\#{\"\#{Dir.pwd}/k\"}\""],
    "bind \"ssl://[::1]:1?cert=/a+b%26c&key=\#{Dir.pwd}/k%25\"" =>
      ["bind \"https://[::1]:1?cert=/a%20b%26c&key=\#{Dir.pwd}/k%25\""],
    "workers ENV.fetch(\"WEB_CONCURRENCY\", 2)" =>
      ["workers((ENV.fetch(\"WEB_CONCURRENCY\", 2)).then { |n| n.to_s == \"auto\" ? :auto : " \
       "[Integer(n || 0), 1].max })"],
    "workers Integer(ENV.fetch(\"N\") { 2 })" =>
      ["workers [Integer(ENV.fetch(\"N\") { 2 }), 1].max"],
    "require \"etc\"" => ["require \"etc\""],
    "require_relative 'environment'" => ["require_relative 'environment'"],
    "trap(:PROF) do\n  puts 1\nend" => ["trap(:PROF) do", "  puts 1", "end"],
    "environment 'production'" => ["environment 'production'"],
    "environment :production" => ["environment \"production\""],
    "environment ENV.fetch(\"E\", \"test\").to_sym" =>
      ["environment ENV.fetch(\"E\", \"test\")"],
    "pidfile \"a.pid\"" => ["pidfile \"a.pid\""],
    "directory '/srv/app'" => ["directory '/srv/app'"],
    "preload_app!" => ["preload_app true"],
    "preload_app! false" => ["preload_app false"],
    "early_hints" => ["early_hints true"],
    "log_requests" => ["log_requests true"],
    "worker_timeout 30" => ["timeouts { worker 30 }"],
    "persistent_timeout 20" => ["timeouts { idle 20 }"],
    "first_data_timeout 5" => ["timeouts { header 5 }"],
    "worker_shutdown_timeout 9" => ["timeouts { retire 9 }"],
    "force_shutdown_after 25" => ["timeouts { shutdown 25 }"],
    "force_shutdown_after :immediately" => ["timeouts { shutdown 0 }"],
    "force_shutdown_after -1" => ["timeouts { shutdown 86_400 }"],
    "http_content_length_limit 1_000" => ["limits { body_bytes 1_000 }"],
    "plugin :tmp_restart" => ["restart_file \"tmp/restart.txt\""],
    "plugin 'solid_queue'" => ["solid_queue true"],
    "before_worker_boot { |n,| p n }" => ["after_fork { |n,| p n }"],
    "before_fork { p -1 }" => ["before_fork { p -1 }"],
    "before_fork { DB.close }" => ["before_fork { DB.close }"],
    "on_worker_boot do |n|\n  DB.open(n)\nend" => ["after_fork do |n|", "  DB.open(n)", "end"],
    "  before_worker_shutdown do\n    DB.close\n  end" =>
      ["after_fork do", "  at_exit do", "    DB.close", "  end", "end"]
  }.freeze

  CARRIED.each do |theirs, ours|
    define_method("test_#{theirs.lines.first.chomp} is carried over") do
      assert_equal ours, carried(theirs)
    end
  end

  # A file that is not there, and a signal of the tests' own process.
  NOT_RUN = ["require_relative 'environment'", "trap(:PROF) do\n  puts 1\nend"].freeze

  CARRIED.except(*NOT_RUN).each_key do |theirs|
    define_method("test_#{theirs.lines.first.chomp} can be read by a server") do
      refute_empty loaded(reader(theirs)) unless theirs.start_with?("require")
    end
  end

  NEEDLESS = ["threads 3, 5", "workers 0", "quiet", "activate_control_app", "rackup 'app.ru'",
              "wait_for_less_busy_worker 0.01", "fork_worker"].freeze

  NEEDLESS.each do |theirs|
    define_method("test_#{theirs} needs nothing here") do
      assert_equal [:needless], kinds(theirs)
    end
  end

  MISSING = ["lowlevel_error_handler { |e| e }", "set_remote_address :localhost",
             "app { |env| env }",
             "plugin :yabeda", "stdout_redirect 'a', 'b'", "after_booted { }",
             "bind \"unix://@a\"", "bind \"unix:///a?umask=x\"", "bind \"unix:///a?mode=\#{m}\"",
             "worker_timeout 0", "persistent_timeout 0", "persistent_timeout -5", "workers -1",
             "force_shutdown_after -2", "worker_timeout false", "http_content_length_limit nil",
             "preload_app! 5", "port 65536", "bind \"tcp://127.0.0.1:65536\"",
             "on_worker_boot { |number, data| data[:x] = number }",
             "on_worker_boot { |number, data = {}| data[:x] = number }",
             "on_worker_boot { |number, *others| p others }", "on_worker_boot { p _2 }",
             "on_worker_boot -> { 1 }", "before_fork(&block)",
             "http_content_length_limit 9999999999999999999999",
             "before_worker_shutdown { |number| number }", "a_word_of_tomorrow 1"].freeze

  MISSING.each do |theirs|
    define_method("test_#{theirs} has no counterpart and a sentence") do
      assert_equal [:missing], kinds(theirs)
      assert_operator notes(theirs).first.size, :>, 20
    end
  end

  EMPTY = ["", "# nothing\n", "if ENV[\"X\"]\n  # nothing\nend\n", "on_worker_boot do\nend\n",
           "if ENV[\"X\"]\n  # nothing\nelse\n  # nothing\nend\nquiet\n"].freeze

  EMPTY.each_with_index do |theirs, at|
    define_method("test_a file without settings is read, #{at}") do
      assert_empty loaded(reader(theirs)).except(:after_fork)
    end
  end

  FILES = "cert: \"c.pem\", key: \"k.pem\""
  # Whether clients are asked for certificates is not known before it runs.
  VERIFY_UNREAD = [
    "ssl_bind \"::1\", 1, #{FILES}, ca: \"a\", verify_mode: ENV.fetch(\"M\", \"force_peer\")",
    "ssl_bind \"0.0.0.0\", 1, #{FILES}, verify_mode: mode",
    "ssl_bind \"0.0.0.0\", 1, #{FILES}, **options",
    "ssl_bind \"0.0.0.0\", 1, options",
    "bind \"ssl://0.0.0.0:1?cert=c&key=k&verify_mode=fail\"",
    "bind \"ssl://0.0.0.0:1?cert=c&key=k&verify_mode=\#{mode}\"",
    "bind \"ssl://0.0.0.0:1?\#{query}\""
  ].freeze

  VERIFY_UNREAD.each do |theirs|
    define_method("test_#{theirs} is not carried over without its clients' certificates") do
      assert_equal [:missing], kinds(theirs)
      assert_match(/client certificates/, notes(theirs).first)
    end
  end

  def test_authorities_of_clients_that_are_not_asked_are_told
    ["bind \"ssl://0.0.0.0:1?cert=c&key=k&ca=a\"",
     "ssl_bind \"0.0.0.0\", 1, #{FILES}, ca: \"a\", verify_mode: \"none\""].each do |theirs|
      assert_match(/; ca is left out/, notes(theirs).first)
    end
  end

  def test_a_variable_that_is_not_set_is_no_value
    text = "pidfile ENV[\"NB_NOT_SET\"]\nenvironment ENV.fetch(\"NB_NOT_SET\", nil)\n" \
           "workers ENV[\"NB_NOT_SET\"]\n"
    assert_equal({ workers: 1 }, loaded(reader(text)))
    found = loaded(reader(text), variables: { "NB_NOT_SET" => "3" })
    assert_equal [3, "3"], found.values_at(:workers, :pidfile)
  end

  # What `workers` is given => what a server reads, without WEB_CONCURRENCY and with "auto" in it.
  WORKERS = { "ENV.fetch(\"WEB_CONCURRENCY\") { :auto }" => [:auto, :auto],
              "ENV.fetch(\"WEB_CONCURRENCY\", \"auto\")" => [:auto, :auto],
              "ENV.fetch(\"WEB_CONCURRENCY\", 2)" => [2, :auto],
              "(ENV[\"WEB_CONCURRENCY\"] || 3)" => [3, :auto],
              "ENV[\"WEB_CONCURRENCY\"] ? :auto : 4" => [4, :auto],
              "ENV.fetch(\"WEB_CONCURRENCY\", nil)" => [1, :auto],
              "ENV[\"WEB_CONCURRENCY\"].to_i" => [1, 1] }.freeze

  WORKERS.each do |theirs, ours|
    define_method("test_workers #{theirs} starts") do
      found = [nil, "auto"].map do |value|
        loaded(reader("workers #{theirs}"), variables: { "WEB_CONCURRENCY" => value })[:workers]
      end
      assert_equal ours, found
    end
  end

  # Code that holds words of Puma without being a setting.
  OTHER_CODE = ["case ENV[\"X\"]\nwhen \"a\" then workers 3\nend",
                "[1, 2].each { |number| port number }", "ENV[\"X\"] && bind(\"tcp://a:1\")",
                "begin\n  port 1\nrescue IOError\n  bind \"tcp://a:1\"\nend",
                "trap(:USR1) { restart_command \"a\" }"].freeze

  OTHER_CODE.each do |theirs|
    define_method("test_words of Puma are told, in #{theirs.lines.first.chomp}") do
      assert_equal [:missing], kinds(theirs)
      assert_empty loaded(reader(theirs))
    end
  end

  def test_before_fork_is_told_as_different_here
    entries = reader("before_fork { 1 }\nbefore_worker_fork { 1 }\n").entries
    assert_equal ["different here: called before each worker is forked, in Puma once at boot", nil],
                 entries.map { |one| one.translation.note }
  end

  FORKING = ["workers 2", "workers ENV.fetch(\"N\") { 1 }", "workers :auto if ENV[\"N\"]"].freeze

  FORKING.each do |workers|
    define_method("test_at_exit is a comment with its mend, beside #{workers}") do
      text = "at_exit { Some.end }\nif ENV[\"X\"]\n  at_exit do\n    Some.end\n  end\nend\n"
      entries = reader("#{text}#{workers}\n").entries.first(2)
      assert_equal %i[missing missing], entries.map { |one| one.translation.kind }
      assert_match(/front.*`after_fork \{ at_exit \{ \.\.\. \} \}`/, entries.first.translation.note)
      assert_match(/^# .*at_exit \{ Some.end \}$/, document(reader("#{text}#{workers}\n")))
    end
  end

  SINGLE = ["workers 0", "workers 1", "workers 0 if ENV[\"N\"]", "quiet"].freeze

  SINGLE.each do |one|
    define_method("test_at_exit of one process is carried over, beside #{one}") do
      assert_includes carried("#{one}\nat_exit { Some.end }\n"), "at_exit { Some.end }"
    end
  end

  def test_what_kills_workers_of_puma_does_not_come_along
    text = "require \"puma_worker_killer\"\nbefore_fork do\n  PumaWorkerKiller.start\nend\n" \
           "PumaWorkerKiller.config { |config| config.ram = 1 }\n"
    assert_equal %i[needless missing missing], kinds(text)
    assert_empty loaded(reader(text))
  end

  # Puma's part => the lines that are left of it.
  LEFT = {
    "n = ENV.fetch(\"N\") { 5 }.to_i\nthreads n, n" => [],
    "max = Integer(ENV[\"N\"] || 5)\nmin = ENV.fetch(\"M\") { max }\nthreads min, max" => [],
    "n = 5\nthreads n, n\nputs n" => ["n = 5", "puts n"],
    "n = 5\nthreads n\nputs 1 if n > 4" => ["n = 5", "if n > 4", "puts 1", "end"],
    "n = boot\nthreads n" => ["n = boot"],
    "n = 5\nlowlevel_error_handler { n }" => ["n = 5"],
    "n = 5" => ["n = 5"],
    "pidfile ENV[\"P\"] if ENV[\"P\"]" => ["if ENV[\"P\"]", "pidfile ENV[\"P\"]", "end"],
    "pidfile ENV[\"P\"] if ENV[\"Q\"]" =>
      ["if ENV[\"Q\"]", "pidfile ENV[\"P\"] if ENV[\"P\"]", "end"]
  }.freeze

  LEFT.each do |theirs, ours|
    define_method("test_of #{theirs.inspect} is left #{ours.inspect}") do
      assert_equal ours, carried(theirs)
    end
  end

  def test_a_variable_that_is_left_out_is_named
    assert_equal "n is for threads alone", notes("n = 5\nthreads n, n").first
  end

  def test_each_word_of_puma_is_known
    unknown = words_of_puma.reject do |word|
      found = reader("#{word} { 1 }").entries.first.translation
      !found.note.to_s.include?("is not known to neverblock init")
    end
    assert_empty unknown
  end

  def test_no_word_without_a_value_fails
    [*words_of_puma, "bind(*all)", "port nil", "workers(**x)", "ssl_bind 1"].each do |text|
      refute_nil reader(text).entries.first.translation.kind, text
    end
  end

  private

  # Of Puma 5 to 8 (lib/puma/dsl.rb).
  def words_of_puma
    %w[activate_control_app after_booted after_refork after_stopped after_worker_fork
       after_worker_shutdown app before_fork before_refork before_restart before_thread_exit
       before_thread_start before_worker_boot before_worker_fork before_worker_shutdown bind
       bind_to_activated_sockets clean_thread_locals clear_binds! custom_logger debug directory
       drain_on_shutdown early_hints enable_keep_alives environment extra_runtime_dependencies
       fiber_per_request first_data_timeout force_shutdown_after fork_worker
       http_content_length_limit idle_timeout io_selector_backend load log_formatter log_requests
       lowlevel_error_handler max_fast_inline max_io_threads max_keep_alive
       mutate_stdout_and_stderr_to_sync_on_write nakayoshi_fork on_booted on_refork on_restart
       on_stopped on_thread_exit on_thread_start on_worker_boot on_worker_fork on_worker_shutdown
       out_of_band persistent_timeout pidfile plugin port preload_app! prune_bundler
       queue_requests quiet rack_url_scheme rackup raise_exception_on_sigterm restart_command
       set_remote_address shutdown_debug silence_fork_callback_warning
       silence_single_worker_warning single ssl_bind state_path state_permission stdout_redirect
       supported_http_methods tag threads wait_for_less_busy_worker worker_boot_timeout
       worker_check_interval worker_culling_strategy worker_shutdown_timeout worker_timeout workers
       cluster]
  end
end
