# frozen_string_literal: true

# The recipe of examples/deploy, built with a small application and run.

require "minitest/autorun"
require "net/http"
require "socket"
require "tmpdir"
require_relative "../support/container_image"
require_relative "../support/installed_gem"
require_relative "../support/local_gems"

class ContainerImageTest < Minitest::Test
  RECIPE = File.join(InstalledGem::ROOT, "examples/deploy")
  # Some with extensions that are compiled.
  GEMS = %w[rack roda websocket-driver websocket-extensions base64 rack-test].freeze
  ADDED_BYTES_MAX = 130_000_000

  APP = <<~'RUBY'
    require "roda"
    require "socket"
    require "websocket/driver"

    class App < Roda
      route do |r|
        r.get("who") do
          [Process.uid, ENV["RACK_ENV"], File.writable?("config.ru"), File.writable?("tmp")].join(" ")
        end
        r.get("wait", String) do |address|
          TCPSocket.open(*address.split(":")) { |socket| socket.read }
        end
        r.post("size") { r.body.read.bytesize.to_s }
      end
    end
    run App
  RUBY

  # What belongs to the machine it is built on.
  LEFT_OUT = %w[.env .git/config config/master.key log/development.log tmp/x vendor/bundle/x].freeze

  def self.image
    @image ||= Dir.mktmpdir do |folder|
      gems = cached_gems(File.join(folder, "gems"))
      app = File.join(folder, "app")
      write_app(app, gems.url)
      ContainerImage.new(app, gems.folder).tap { |image| Minitest.after_run { image.remove } }
    end
  end

  def self.cached_gems(folder)
    files = GEMS.map { |name| Gem.loaded_specs[name] || Gem::Specification.find_by_name(name) }
                .map(&:cache_file)
    Dir.mktmpdir { |own| LocalGems.new(folder, InstalledGem.build(own).first(1) + files) }
  end

  def self.write_app(folder, url)
    LEFT_OUT.each do |path|
      FileUtils.mkdir_p(File.dirname(File.join(folder, path)))
      File.write(File.join(folder, path), "")
    end
    FileUtils.cp([File.join(RECIPE, "Dockerfile"), File.join(RECIPE, ".dockerignore")], folder)
    File.write(File.join(folder, "config.ru"), APP)
    File.write(File.join(folder, "Gemfile"), <<~RUBY)
      source "#{url}"
      gem "#{NeverBlock::GEM_NAME}", ">= 0.a"
      gem "roda"
      gem "websocket-driver"
      group(:development) { gem "rack-test" }
    RUBY
    lock(folder)
  end

  # Without the gems of this machine, which may have versions that the source has not.
  def self.lock(folder)
    Dir.mktmpdir do |none|
      env = { "BUNDLE_GEMFILE" => File.join(folder, "Gemfile"), "BUNDLE_LOCKFILE" => nil,
              "RUBYOPT" => nil, "RUBYLIB" => nil, "GEM_HOME" => none, "GEM_PATH" => none }
      said, status = Open3.capture2e(env, "bundle", "lock", chdir: folder)
      raise "no lock file: #{said}" unless status.success?
    end
  end

  def setup
    problem = ContainerImage.problem
    skip problem if problem
    @image = self.class.image
  end

  def test_what_is_in_it
    said = @image.run("sh", "-c", <<~SH)
      command -v gcc git
      find vendor -name '*.o' -o -name '*.gem' -o -name 'rack-test*'
      ls -d #{LEFT_OUT.join(" ")} 2>/dev/null
      echo end
    SH
    assert_equal "end\n", said
    assert_equal %w[8080/tcp 9293/tcp], @image.config["ExposedPorts"].keys.sort
    assert_equal "1000", @image.config["User"]
    added = @image.added_bytes
    puts "the image adds #{added / 1_000_000} MB to what it begins from"
    assert_operator added, :<, ADDED_BYTES_MAX
  end

  def test_it_answers_without_root
    @image.serve do |container|
      assert_equal "1000 production false true", ready(container).get("/who").body
      %w[/health /ready].each do |path|
        assert_equal "200", http(container, 9293).get(path).code
      end
      refute_match(/warn|not a directory|Error/i, container.log)
    end
  end

  # As kubernetes.yaml has it.
  def test_its_root_may_be_read_only
    @image.serve("--read-only", "--tmpfs", "/tmp") do |container|
      assert_equal "3000000", ready(container).post("/size", "x" * 3_000_000).body
      refute_match(/warn|cannot/i, container.log)
    end
  end

  def test_a_stop_lets_running_requests_end
    @image.serve do |container|
      ready(container)
      held = TCPServer.new(container.here, 0)
      answer = Thread.new { http(container, 8080).get("/wait/#{container.here}:#{held.addr[1]}") }
      assert held.wait_readable(Patience::SECONDS), "the request did not begin: #{container.log}"
      socket = held.accept
      stopping = container.stop
      Patience.await("the drain") { http(container, 9293).get("/ready").code == "503" }
      socket.write("ended in peace")
      socket.close
      assert_equal "ended in peace", answer.value.body
      assert_equal 0, container.status, container.log
      Process.wait(stopping)
    end
  end

  private

  def http(container, port)
    Net::HTTP.new(container.address, port).tap { |http| http.read_timeout = Patience::SECONDS }
  end

  # Once it answers.
  def ready(container)
    Patience.await("the server", -> { container.log }) do
      http(container, 9293).get("/ready").code == "200"
    rescue SystemCallError, IOError
      false
    end
    http(container, 8080)
  end
end
