# frozen_string_literal: true

# The ways in which people start a Rails application, with one line of its Gemfile for the server:
# `rails server -u neverblock`, `rails server -d`, `rackup`. (All other tests of Rails use plain
# `rails server`.)

require "minitest/autorun"
require "open3"
require "socket"
require "tmpdir"
require_relative "../support/http_client"
require_relative "../support/rails_application"

class RailsCommandsTest < Minitest::Test
  RACKUP = [
    RbConfig.ruby, "-rbundler/setup", "-e", "load Gem.bin_path('rackup', 'rackup')", "--"
  ].freeze

  # @return [RailsApplication] the slow suite has other versions
  def self.application
    RailsApplication.instance
  end

  def test_by_its_name
    serve("bin/rails", "server", "-u", "neverblock", "-p", "0", "-b", "127.0.0.1") do |server|
      assert_match(/=> Booting NeverBlock\n/, server.stdout)
      assert_equal "200", up(server.url)
    end
  end

  def test_by_rackup
    serve(*RACKUP, "-p", "0", "-o", "127.0.0.1") { |server| assert_equal "200", up(server.url) }
  end

  def test_as_a_daemon
    Dir.mktmpdir do |directory|
      pidfile = File.join(directory, "tmp/pids/server.pid")
      self.class.application.copy_to(directory)
      port = free_port
      env = self.class.application.env(directory)
      command = ["bin/rails", "server", "-d", "-p", port.to_s, "-b", "127.0.0.1"]
      output, status = Open3.capture2e(env, *command, chdir: directory)
      assert_predicate status, :success?, output
      await("its answer") { up("http://127.0.0.1:#{port}") == "200" }
      Process.kill("TERM", Integer(File.read(pidfile), 10))
      await("its end") { !File.exist?(pidfile) && up("http://127.0.0.1:#{port}").nil? }
    ensure
      Process.kill("KILL", Integer(File.read(pidfile), 10)) if File.exist?(pidfile)
    end
  end

  def test_the_generator_brings_the_configuration_of_puma_over
    Dir.mktmpdir do |directory|
      self.class.application.copy_to(directory)
      File.write(File.join(directory, "config/puma.rb"), "threads 3\nworkers 2\n")
      env = self.class.application.env(directory)
      output, status = Open3.capture2e(env, "bin/rails", "generate", "neverblock:install",
                                       chdir: directory)
      assert_predicate status, :success?, output
      written = File.read(File.join(directory, "config/neverblock.rb"))
      assert_includes written, "\n# config/puma.rb:2  workers 2\nworkers 2\n"
    end
  end

  # Puma's `port` under `rails server`: Rails' own host where nobody names one.
  def test_a_port_of_puma_listens_where_rails_would_and_the_banner_names_no_other
    Dir.mktmpdir do |directory|
      self.class.application.copy_to(directory)
      env = self.class.application.env(directory)
      File.write(File.join(directory, "config/puma.rb"), "port ENV.fetch(\"PORT\", 0)\n")
      output, status = Open3.capture2e(env, "bin/rails", "generate", "neverblock:install",
                                       chdir: directory)
      assert_predicate status, :success?, output
      said = banner(env, directory)
      assert_match(%r{^Listening on http://localhost:[1-9]\d*$}, said)
      assert_match(/^=> Rails .* application starting in development\s*$/, said)
    end
  end

  private

  # @return [String] what `rails server` says up to the address, or all that it says
  def banner(env, directory)
    IO.popen(env, ["bin/rails", "server"], chdir: directory, err: %i[child out]) do |output|
      said = +""
      output.each_line do |line|
        said << line
        break if line.start_with?("Listening on ")
      end
      Process.kill("TERM", output.pid)
      said
    end
  end

  def serve(*words)
    server = RailsServer.new(*words, application: self.class.application).start
    yield server
  ensure
    server&.stop
  end

  def up(url)
    HTTPClient.get_response(URI("#{url}/up")).code
  rescue Errno::ECONNREFUSED
    nil
  end

  def await(what, &)
    Patience.await(what, &)
  end

  # The daemon closes what would tell a port that it has chosen.
  def free_port
    TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
  end
end
