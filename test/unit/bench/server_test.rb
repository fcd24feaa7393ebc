# frozen_string_literal: true

require_relative "bench_case"

class BenchServerTest < BenchCase
  # A bundle that is always there.
  class ReadyBundle
    def install; end

    def environment
      { "BUNDLE_GEMFILE" => "G" }
    end

    def version(gem)
      "#{gem} 9"
    end
  end

  # A Gemfile of no gems, which bundler accepts.
  class EmptyBundle < ReadyBundle
    def initialize(root)
      super()
      @gemfile = File.join(root, "Gemfile")
      File.write(@gemfile, "")
    end

    def environment
      { "BUNDLE_GEMFILE" => @gemfile }
    end
  end

  def test_a_gem_server_runs_in_its_bundle_with_yjit_and_its_own_arguments
    server = GemServer.new("puma 1000", settings: "s", environment: { "A" => "1" },
                                        bundle: ReadyBundle.new) { |port, app| [port.to_s, app] }
    launch = server.launch(port: 7, app: "a.ru", directory: "/tmp/x")
    assert_equal [*RUBY, "-e", GemServer::STARTER, "puma", "puma", "7", "a.ru"], launch.command
    assert_includes launch.command, "--yjit" if defined?(RubyVM::YJIT)
    assert_equal({ "BUNDLE_GEMFILE" => "G", "A" => "1" }, launch.environment)
    assert_equal ["puma", "puma 9"], [server.family, server.version]
  end

  def test_neverblock_is_bound_to_the_port_with_a_fiber_for_every_client
    server = NeverBlockServer.new("neverblock", settings: "s", fibers: 1024,
                                                bundle: ReadyBundle.new, root: "/root")
    command = server.launch(port: 7, app: "a.ru", directory: "/tmp/x").command
    assert_equal ["-I", "/root/lib", "/root/exe/neverblock", "a.ru", "-b", "http://127.0.0.1:7",
                  "-f", "1024"], command.last(8)
  end

  def test_a_checkout_without_the_server_is_left_out_with_the_reason
    Dir.mktmpdir do |root|
      server = NeverBlockServer.new("neverblock", settings: "s", fibers: 1,
                                                  bundle: ReadyBundle.new, root: root)
      assert_equal "exe/neverblock does not exist", assert_raises(Error) { server.prepare }.message
    end
  end

  def test_a_native_part_that_does_not_load_is_left_out_with_what_ruby_said
    Dir.mktmpdir do |root|
      %w[exe lib].each { |name| Dir.mkdir(File.join(root, name)) }
      File.write(File.join(root, "exe/neverblock"), "")
      File.write(File.join(root, "lib/neverblock.rb"), "abort 'undefined symbol'")
      server = NeverBlockServer.new("neverblock", settings: "s", fibers: 1,
                                                  bundle: EmptyBundle.new(root), root: root)
      error = assert_raises(Error) { server.prepare }
      assert_equal "the native part cannot be loaded (undefined symbol): bin/setup builds it",
                   error.message
    end
  end

  def test_nginx_without_its_program_is_left_out_with_the_package_to_install
    server = NginxServer.new("nginx", settings: "s")
    server.stub(:version, nil) do
      error = assert_raises(Error) { server.prepare }
      assert_match(%r{nginx is not installed: bin/setup --all}, error.message)
    end
  end

  def test_the_configuration_of_nginx_is_filled_in_and_has_no_placeholder_left
    text = NginxServer.new("nginx", settings: "s").configuration(7, "/tmp/x")
    assert_includes text, "listen 127.0.0.1:7 backlog=1024;"
    assert_includes text, "pid /tmp/x/nginx.pid;"
    assert_includes text, "worker_processes 1;"
    refute_match(/^[^#]*\{\{/, text)
  end
end
