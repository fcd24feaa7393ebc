# frozen_string_literal: true

require_relative "bench_case"

class BenchTlsServersTest < BenchCase
  Folder = Struct.new(:directory)

  def setup
    @directory = Dir.mktmpdir
    files = -> { Folder.new("/srv/files") }
    @servers = TlsServers.all(files: files).to_h { |server| [server.name, server] }
  end

  def teardown
    FileUtils.rm_rf(@directory)
  end

  def test_every_server_gets_the_same_certificate_on_a_port_of_its_own
    files = [TlsFiles.shared.certificate, TlsFiles.shared.key]
    @servers.each_value do |server|
      launch = launch(server)
      text = launch.command.join(" ") + configuration
      assert_match(%r{\Ahttps://127\.0\.0\.1:\d+\z}, launch.tls_url, server.name)
      [launch.tls_url.delete_prefix("https://"), *files].each do |part|
        assert_includes text, part, server.name
      end
      FileUtils.rm_f(File.join(@directory, "nginx.conf"))
    end
  end

  def test_ours_and_nginx_serve_the_files
    assert_includes launch(@servers.fetch("neverblock")).command.each_cons(2),
                    %w[--public /srv/files]
    launch(@servers.fetch("nginx"))
    assert_includes configuration, "root /srv/files;"
    refute_includes configuration, "{{"
  end

  def test_the_certificate_belongs_to_the_key
    certificate = OpenSSL::X509::Certificate.new(File.read(TlsFiles.shared.certificate))
    assert certificate.check_private_key(OpenSSL::PKey.read(File.read(TlsFiles.shared.key)))
  end

  def test_a_load_is_sent_to_the_address_with_tls
    urls = []
    generator = Object.new
    generator.define_singleton_method(:run) do |_load, url:, seconds:|
      urls << url
      Wrk::Outcome.new(requests: 1, seconds: seconds.to_f, bytes: 1, errors: {}, latency_us: {},
                       cpu_seconds: 0.0)
    end
    tree = Object.new
    { rss_bytes: 1, cpu_seconds: 0.0, pids: [] }.each do |name, value|
      tree.define_singleton_method(name) { |*| value }
    end
    process = Struct.new(:tree, :url, :tls_url, :alive?).new(tree, "http://a", "https://b", true)
    scenario = Scenario.new(name: "a", title: "a", load: Streams.new(connections: 1, streams: 1))
    TlsMeasurement.new(load_generator: generator)
                  .take(process, scenario, Settings.for(seconds: 1))
    assert_equal ["https://b"] * 2, urls
  end

  private

  def launch(server)
    server.launch(port: 7, app: "a.ru", directory: @directory)
  end

  def configuration
    file = File.join(@directory, "nginx.conf")
    File.exist?(file) ? File.read(file) : ""
  end
end
