# frozen_string_literal: true

# Let's Encrypt's small ACME server for tests (https://github.com/letsencrypt/pebble, Debian's
# package pebble), as a process of its own. It validates names at 127.0.0.1, on ports of the test.

require "json"
require "open3"
require "socket"

require_relative "certificates"
require_relative "name_server"
require_relative "patience"

class Pebble
  BLOCKED = "blocked.example"
  STARTED = "ACME directory available at"

  # @return [String, nil] why it cannot be had here
  def self.missing
    found = ENV.fetch("PATH", "").split(":").any? { |path|
      File.executable?(File.join(path, "pebble"))
    }
    "no pebble here: apt-get install pebble (bin/setup --all does)" unless found
  end

  # A port that nobody listens on.
  def self.free_port
    TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
  end

  # @param folder [String] for its files
  def initialize(folder)
    @folder = folder
    @port = self.class.free_port
    @certificates = Certificates.new
    File.write(ca, @certificates.ca_pem)
    @certificates.issue("localhost", "127.0.0.1").write(folder, "pebble")
    @log = File.join(folder, "pebble.log")
  end

  # @return [String] URL of its directory, whether it runs or not
  def directory
    "https://localhost:#{@port}/dir"
  end

  # @return [Integer]
  attr_reader :port

  # @return [String] path of the file that it is trusted by
  def ca
    File.join(@folder, "pebble-ca.pem")
  end

  # @param http [Integer] port of HTTP-01
  # @param tls [Integer] port of TLS-ALPN-01
  # @param env [Hash] its faults
  # @return [self] it listens
  def start(http:, tls:, env: {})
    @names = NameServer.new
    File.write(File.join(@folder, "pebble.json"), JSON.generate(pebble: settings(http, tls)))
    env = { "PEBBLE_VA_NOSLEEP" => "1", "PEBBLE_WFE_NONCEREJECT" => "0" }.merge(env)
    @pid = Process.spawn(env, "pebble", "-config", File.join(@folder, "pebble.json"),
                         "-dnsserver", @names.address, %i[out err] => [@log, "w"])
    Patience.await("pebble listens", -> { log }) { log.include?(STARTED) || ended? }
    raise "pebble has ended: #{log}" unless @pid

    self
  end

  # @return [String]
  def log
    File.exist?(@log) ? File.read(@log) : ""
  end

  # @return [Integer] how many certificates it has issued since its start
  def issued
    log.scan("Issued certificate serial").size
  end

  def stop
    return unless @pid

    Process.kill("KILL", @pid)
    Process.wait(@pid)
    @pid = nil
    @names.close
  end

  private

  def ended?
    return unless Process.wait(@pid, Process::WNOHANG)

    @pid = nil
    true
  end

  def settings(http, tls)
    { listenAddress: "127.0.0.1:#{@port}", managementListenAddress: "127.0.0.1:0",
      certificate: File.join(@folder, "pebble.pem"), privateKey: File.join(@folder, "pebble.key"),
      httpPort: http, tlsPort: tls, ocspResponderURL: "", externalAccountBindingRequired: false,
      domainBlocklist: [BLOCKED] }
  end
end
