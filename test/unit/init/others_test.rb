# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/init_case"
require "neverblock/init/sources"

# Unicorn, Falcon, Passenger, Thin, Thruster.
class InitOthersTest < Minitest::Test
  include InitCase

  UNICORN = <<~'RUBY'
    worker_processes 8
    listen "/run/app.sock", backlog: 64
    listen 8080, tcp_nopush: true
    listen "127.0.0.1:8081"
    timeout 30
    preload_app true
    pid "/run/app.pid"
    working_directory "/srv/app"
    stderr_path "log/err.log"
    check_client_connection true
    before_fork do |server, worker|
      old_pid = "#{server.config[:pid]}.oldbin"
    end
    after_fork do |server, worker|
      ActiveRecord::Base.establish_connection
    end
  RUBY

  def test_unicorn
    found = NeverBlock::Init::Unicorn.new(UNICORN, "config/unicorn.rb").entries
    lines = found.flat_map { |entry| entry.translation.lines }
    assert_equal ["workers :auto", "bind \"unix:///run/app.sock?mode=0777\"", "backlog 64",
                  "bind \"http://0.0.0.0:8080\"", "bind \"http://127.0.0.1:8081\"",
                  "timeouts { worker 30 }", "preload_app true", "pidfile \"/run/app.pid\"",
                  "directory \"/srv/app\"", "cancel_on_disconnect true",
                  "after_fork do", "  ActiveRecord::Base.establish_connection", "end"], lines
    assert_equal [9, 11], missing_lines(found), "stderr_path, a block that uses its server"
    assert loaded(unicorn(UNICORN)).fetch(:cancel_on_disconnect)
  end

  REFUSED = ["timeout 0", "timeout -1", "listen -1", "listen 65536", "pid nil",
             "preload_app 5"].freeze

  REFUSED.each do |theirs|
    define_method("test_#{theirs} of Unicorn is told, since no server takes it") do
      assert_equal [:missing], (unicorn(theirs).entries.map { |entry| entry.translation.kind })
    end
  end

  HOOKS = { "after_fork do |s, w|\n  DB.open(w.nr)\nend" => :missing,
            "before_fork do |server, _|\n  [1].each { server.pid }\nend" => :missing,
            "after_fork { DB.open(_2.nr) }" => :missing,
            "after_fork { |server, worker| DB.open }" => :carried,
            "after_fork do |s, w|\nend" => :carried,
            "after_fork do |s, w|\n  Signal.trap(\"TERM\") { puts 1 }\nend" => :missing,
            "after_fork do |s, w|\n  trap :TERM, \"IGNORE\"\nend" => :missing,
            "after_fork { |_, _| logger.info(\"a\") }" => :missing,
            "after_fork { |_, _| load(\"a.rb\") }" => :carried,
            "after_fork do |s, w|\n  Unicorn::OobGC.start\nend" => :missing }.freeze

  HOOKS.each do |theirs, kind|
    define_method("test_a block of Unicorn is #{kind}: #{theirs.delete("\n")}") do
      found = unicorn(theirs)
      assert_equal [kind], (found.entries.map { |entry| entry.translation.kind })
      assert_equal (kind == :carried ? [:after_fork] : []), loaded(found).keys
    end
  end

  # What `listen` is given => what is bound.
  LISTEN = { "\"\#{Dir.pwd}/tmp/a.sock\", backlog: 3" => "a.sock",
             "%(\#{Dir.pwd}/b.sock)" => "b.sock",
             "\"/tmp/\#{\"c\"}.sock\"" => "c.sock", "File.join(Dir.pwd, \"d.sock\")" => "d.sock",
             "ENV[\"NB_NOT_SET\"] || 3001" => "http://0.0.0.0:3001",
             "(ENV[\"NB_NOT_SET\"] || 3002).to_i" => "http://0.0.0.0:3002",
             "\"\#{\"127.0.0.1\"}:\#{3003}\"" => "http://127.0.0.1:3003",
             "\"*:3004\"" => "http://0.0.0.0:3004", "\"3005\"" => "http://0.0.0.0:3005" }.freeze

  LISTEN.each do |theirs, ours|
    define_method("test_listen #{theirs} binds #{ours}") do
      assert_equal [ours], addresses(loaded(unicorn("listen #{theirs}")))
    end
  end

  # A socket of Unicorn's is everybody's, but for its mask.
  SOCKETS = { "\"/run/a.sock\"" => ["/run/a.sock", 0o777],
              "\"unix:/run/a.sock\", umask: 0117" => ["/run/a.sock", 0o660],
              "\"unix:tmp/a.sock\", umask: 0" => ["#{Dir.pwd}/tmp/a.sock", 0o777],
              "\"~/a.sock\"" => [File.expand_path("~/a.sock"), 0o777],
              "\"\#{Dir.pwd}/a.sock\", umask: 6 + 1" => ["#{Dir.pwd}/a.sock", 0o770],
              "File.join(\"/run\", \"a.sock\"), umask: 0o7" => ["/run/a.sock", 0o770] }.freeze

  SOCKETS.each do |theirs, ours|
    define_method("test_listen #{theirs} binds that socket") do
      bind = loaded(unicorn("listen #{theirs}")).fetch(:bind).first
      assert_equal ours, [bind.path, bind.mode]
    end
  end

  def test_variables_named_like_settings_are_variables
    text = "workers = 2\nworkers += 1\nfibers ||= 4\n[7].each { |backlog| workers += backlog }\n" \
           "add = ->(directory, bind: 1) { directory + bind + workers }\n" \
           "def user(pidfile) = pidfile + 1\n" \
           "pid \"\#{workers}-\#{fibers}-\#{add.call(1)}-\#{user(1)}\"\n"
    assert_equal({ pidfile: "10-4-12-2" }, loaded(unicorn(text)))
  end

  def test_paths_and_variables_mean_the_same_in_another_folder
    text = "directory = File.basename(__dir__)\n" \
           "environment = File.basename(File.dirname(__FILE__))\n" \
           "pid \"\#{directory}-\#{environment}\"\nrequire_relative \"b.rb\" if false\n"
    assert_equal "config-config", loaded(unicorn(text)).fetch(:pidfile)
    found = loaded(NeverBlock::Init::Unicorn.new(text, "config/unicorn/production.rb"))
    assert_equal "unicorn-unicorn", found.fetch(:pidfile)
  end

  [NeverBlock::Init::Unicorn, NeverBlock::Init::Falcon].each do |kind|
    define_method("test_a file of #{kind::SERVER} may be empty") do
      ["", "# nothing\n", "service \"a\" do\nend\n"].each do |text|
        assert_empty loaded(kind.new(text, "a.rb"))
      end
    end
  end

  FALCON = <<~'RUBY'
    #!/usr/bin/env falcon-host
    require "falcon/environment/rack"

    service "example.org" do
      include Falcon::Environment::Rack
      count ENV.fetch("WEB_CONCURRENCY", 2).to_i
      port { ENV.fetch("PORT", 9292) }
      endpoint Async::HTTP::Endpoint.parse("http://0.0.0.0:3000")
      preload "preload.rb"
    end
  RUBY

  def test_falcon
    found = NeverBlock::Init::Falcon.new(FALCON, "falcon.rb").entries
    assert_equal ["workers ENV.fetch(\"WEB_CONCURRENCY\", 2).to_i",
                  "bind \"http://0.0.0.0:\#{ENV.fetch(\"PORT\", 9292)}\"",
                  "bind \"http://0.0.0.0:3000\"", "preload_app true"],
                 found.flat_map { |entry| entry.translation.lines }
    loaded(falcon(FALCON))
  end

  # As `falcon-rails` and old versions have it.
  FALCON_FILES = {
    3006 => <<~'RUBY',
      service "a" do
        port { 3006 }
        endpoint do
          Async::HTTP::Endpoint
            .parse("http://0.0.0.0:#{port}")
            .with(protocol: Async::HTTP::Protocol::HTTP11)
        end
      end
    RUBY
    3007 => <<~'RUBY',
      port = ENV["NB_NOT_SET"] || 3007
      rack "a" do
        append preload "a.rb"
        endpoint Async::HTTP::Endpoint.parse("http://0.0.0.0:#{port}")
      end
    RUBY
    3008 => <<~'RUBY'
      service "a" do
        endpoint { Endpoint.parse("http://0.0.0.0:#{ENV.fetch("NB_NOT_SET", 3008)}") }
      end
    RUBY
  }.freeze

  FALCON_FILES.each do |port, theirs|
    define_method("test_an endpoint of Falcon has its port, #{port}") do
      assert_equal ["http://0.0.0.0:#{port}"], addresses(loaded(falcon(theirs)))
    end
  end

  def test_preload_of_falcon_may_be_off
    refute loaded(falcon("service(\"a\") do\n  preload(false)\nend\n")).fetch(:preload_app)
  end

  def test_a_port_of_falcon_that_is_nowhere_is_told
    found = falcon(<<~'RUBY')
      service "a" do
        endpoint { Endpoint.parse("http://a:#{port}") }
        count do
          number = 2
          number
        end
      end
    RUBY
    assert_equal %i[missing missing], (found.entries.map { |entry| entry.translation.kind })
  end

  def test_passenger
    text = JSON.generate("environment" => "production", "port" => 4000, "ssl" => true,
                         "ssl_certificate" => "c.pem", "ssl_certificate_key" => "k.pem",
                         "max_pool_size" => 6, "user" => "www", "static_files_dir" => "public")
    found = NeverBlock::Init::Passenger.read(text, "Passengerfile.json").entries
    assert_equal ["bind \"https://0.0.0.0:4000?cert=c.pem&key=k.pem\"",
                  "environment \"production\"", "public_dir \"public\""],
                 found.flat_map { |entry| entry.translation.lines }
    assert_equal %i[carried carried needless missing carried],
                 (found.map { |entry| entry.translation.kind })
  end

  def test_values_of_passenger_that_are_not_allowed_here_are_told
    { { "max_request_queue_size" => 0 } => {}, { "max_request_queue_size" => "7" } =>
      { "limits.queue": 7 }, { "max_request_queue_size" => "many" } => {},
      { "environment" => "a\#{1}\"" } => {}, { "port" => "$PORT" } => {},
      { "pid_file" => "a$b" } => { pidfile: "a$b" },
      { "socket_file" => "/tmp/\#{1}\".sock" } => nil }.each do |theirs, ours|
      found = loaded(NeverBlock::Init::Passenger.read(JSON.generate(theirs), "a.json"))
      ours ? assert_equal(ours, found) : assert_equal(1, found.size)
    end
    assert_raises(NeverBlock::ConfigError) { NeverBlock::Init::Passenger.read("[]", "a.json") }
  end

  def test_a_reload_is_told_as_it_is
    text = "onebyone: true\naddress: \"::1\"\ntimeout: 0\n"
    found = NeverBlock::Init::Thin.read(text, "thin.yml")
    assert_equal ["http://[::1]:3000"], addresses(loaded(found))
    assert_equal %i[carried needless missing], (found.entries.map { |one| one.translation.kind })
    assert_match(/in one step/, found.entries[1].translation.note)
  end

  def test_thin
    found = NeverBlock::Init::Thin.read("socket: /tmp/thin.sock\nservers: 3\nmax_conns: 99\n" \
                                        "log: a.log\n", "config/thin.yml").entries
    assert_equal ["bind \"unix:///tmp/thin.sock\"", "limits { connections 99 }"],
                 found.flat_map { |entry| entry.translation.lines }
  end

  DOCKERFILE = <<~TEXT
    FROM ruby
    ENV RAILS_ENV="production" \\
        TLS_DOMAIN="a.example, b.example" \\
        HTTP_PORT=8080
    ENV THRUSTER_MAX_REQUEST_BODY=1000
    CMD ["./bin/thrust", "./bin/rails", "server"]
  TEXT

  def test_thruster
    found = NeverBlock::Init::Thruster.read(DOCKERFILE, "Dockerfile").entries
    lines = found.flat_map { |entry| entry.translation.lines }
    assert_equal ["public_dir \"public\"", "compress true", "limits { body_bytes 1000 }"],
                 lines.last(3)
    assert_equal "bind \"http://0.0.0.0:8080\"", lines.first
    assert_includes lines, "bind \"https://0.0.0.0:443\""
    assert_nil NeverBlock::Init::Thruster.read("FROM ruby\nENV HTTP_PORT=1\n", "Dockerfile")
  end

  # The file is read and not run, and what is written loads.
  def test_ports_and_names_that_are_none_have_no_counterpart
    mark = File.join(Dir.tmpdir, "neverblock-init-#{Process.pid}")
    code = "1\"; File.write(#{mark.dump}, \"\"); \""
    ["HTTP_PORT #{code}", "HTTP_PORT=web", "HTTPS_PORT=web TLS_DOMAIN=a.example",
     "TLS_DOMAIN=a,b:c", "TLS_DOMAIN=a.example HTTP_PORT=99999"].each do |line|
      found = NeverBlock::Init::Thruster.read("ENV #{line}\nCMD thrust\n", "Dockerfile").entries
      assert_equal :missing, found.first.translation.kind, line
      assert_match(/\Anot allowed here: /, found.first.translation.note)
    end
    refute_path_exists mark
  ensure
    FileUtils.rm_f(mark)
  end

  # Lines of a Dockerfile => what a server reads.
  THRUSTER = {
    "THRUSTER_MAX_REQUEST_BODY=0" => {}, "MAX_REQUEST_BODY=7" => { "limits.body_bytes": 7 },
    "MAX_REQUEST_BODY=$SIZE" => {}, "LOG_REQUESTS=0" => { log_requests: false },
    "LOG_REQUESTS=1" => { log_requests: true }, "LOG_REQUESTS=f" => { log_requests: false },
    "LOG_REQUESTS=T" => { log_requests: true }, "LOG_REQUESTS=maybe" => {},
    "HTTP_IDLE_TIMEOUT=0" => {}, "HTTP_IDLE_TIMEOUT=9" => { "timeouts.idle": 9 },
    "HTTP_READ_TIMEOUT=0" => {}, "GZIP_COMPRESSION_ENABLED=0" => { compress: false },
    "LOG_REQUESTS 0" => { log_requests: false },
    "THRUSTER_LOG_REQUESTS=1 LOG_REQUESTS=0" => { log_requests: true },
    "A=1 \\\n# why\n LOG_REQUESTS='0'" => { log_requests: false }, "HTTP_PORT=$PORT" => {}
  }.freeze

  THRUSTER.each do |theirs, ours|
    define_method("test_ENV #{theirs.inspect} of Thruster") do
      found = NeverBlock::Init::Thruster.read("ENV #{theirs}\nCMD thrust\n", "Dockerfile")
      values = loaded(found)
      defaults = { compress: true, public_dir: values.fetch(:public_dir) }
      assert_equal defaults.merge(ours), values.except(:bind)
      assert_equal theirs.include?("$PORT") ? [] : ["http://0.0.0.0:80"], addresses(values)
    end
  end

  def test_words_without_a_value_are_told
    { NeverBlock::Init::Unicorn => "listen\ntimeout\nafter_fork\nx",
      NeverBlock::Init::Falcon => "service \"a\" do\n  count\n  port\n  endpoint\n  url\nend" }
      .each do |kind, text|
        found = kind.new(text, "a.rb").entries
        assert_equal 4, found.size
        assert_includes found.map { |entry| entry.translation.kind }, :missing
      end
  end

  # Puma reads config/puma/production.rb in production, and nothing else where it is there.
  def test_the_file_that_puma_reads_in_production_is_the_first_and_the_other_is_named
    both = { "config/puma.rb" => "workers 2\n", "config/puma/production.rb" => "workers 3\n" }
    found = found_in(both)
    assert_equal ["config/puma/production.rb"], found.map(&:name)
    assert_equal 3, loaded(*found).fetch(:workers)
    assert_includes document(*found), "\n# config/puma.rb is there as well and was not read: " \
                                      "`neverblock init config/puma.rb` reads it.\n"
    refute_includes document(*found_in(both.first(1).to_h)), "was not read"
  end

  def test_a_second_file_of_another_server_is_named_too
    found = found_in("config/thin.yml" => "port: 1\n", "thin.yml" => "port: 2\n",
                     "Dockerfile" => "FROM ruby\n")
    assert_equal ["config/thin.yml"], found.map(&:name)
    assert_includes document(*found), "# thin.yml is there as well and was not read"
  end

  BROKEN = { "config/puma.rb" => ["workers 2\nport (", /:2: syntax error: .+/],
             "Passengerfile.json" => ["{", / is not valid JSON: .+/],
             "thin.yml" => ["a: [", / is not valid YAML: .+/] }.freeze

  BROKEN.each do |name, (text, complaint)|
    define_method("test_a_broken_#{name} is told in one line") do
      Dir.mktmpdir do |folder|
        FileUtils.mkdir_p(File.join(folder, File.dirname(name)))
        File.write(File.join(folder, name), text)
        error = assert_raises(NeverBlock::ConfigError) do
          NeverBlock::Init::Sources.read(name, folder).entries
        end
        assert_match(/\A#{name}#{complaint}\z/, error.message)
      end
    end
  end

  private

  # @param files [Hash{String => String}] their texts
  def found_in(files)
    Dir.mktmpdir do |folder|
      files.each do |name, text|
        FileUtils.mkdir_p(File.join(folder, File.dirname(name)))
        File.write(File.join(folder, name), text)
      end
      NeverBlock::Init::Sources.find(folder)
    end
  end

  def unicorn(text) = NeverBlock::Init::Unicorn.new(text, "config/unicorn.rb")
  def falcon(text) = NeverBlock::Init::Falcon.new(text, "falcon.rb")

  def missing_lines(entries)
    entries.select { |entry| entry.translation.kind == :missing }
           .map { |entry| entry.place[/\d+\z/].to_i }
  end
end
