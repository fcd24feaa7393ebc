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
    assert_equal ["workers :auto", "bind \"unix:///run/app.sock\"", "backlog 64",
                  "bind \"http://0.0.0.0:8080\"", "bind \"http://127.0.0.1:8081\"",
                  "timeouts { worker 30 }", "preload_app true", "pidfile \"/run/app.pid\"",
                  "directory \"/srv/app\"", "executor { cancel_on_disconnect true }",
                  "after_fork do", "  ActiveRecord::Base.establish_connection", "end"], lines
    assert_equal [9, 11], missing_lines(found), "stderr_path, a block that uses its server"
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

  def test_words_without_a_value_are_told
    { NeverBlock::Init::Unicorn => "listen\ntimeout\nafter_fork\nx",
      NeverBlock::Init::Falcon => "service \"a\" do\n  count\n  port\n  endpoint\n  url\nend" }
      .each do |kind, text|
        found = kind.new(text, "a.rb").entries
        assert_equal 4, found.size
        assert_includes found.map { |entry| entry.translation.kind }, :missing
      end
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

  def missing_lines(entries)
    entries.select { |entry| entry.translation.kind == :missing }
           .map { |entry| entry.place[/\d+\z/].to_i }
  end
end
