# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require "neverblock/tls/self_signed"

module NeverBlock
  module Bench
    # A self-signed certificate (P-256) in a folder that is removed when this process ends.
    class TlsFiles
      class << self
        # The one that all servers of this process share, made at first use.
        # @return [TlsFiles]
        def shared
          @shared ||= new.tap { |files| at_exit { FileUtils.rm_rf(files.directory) } }
        end
      end

      # @return [String]
      attr_reader :directory

      def initialize
        @directory = Dir.mktmpdir("neverblock-bench-tls")
        File.chmod(0o755, @directory) # a worker that drops root still has to enter
        identity = TLS::SelfSigned.identity(["localhost"], days: 1)
        File.write(key, identity.key)
        File.write(certificate, identity.chain)
      end

      # @return [String] path
      def certificate = File.join(@directory, "certificate.pem")
      # @return [String] path
      def key = File.join(@directory, "key.pem")
    end

    # For servers with a plain port, which ServerProcess asks first, and a port with TLS.
    module TlsServer
      private

      # @yield [Integer, TlsFiles] the port for TLS
      # @yieldreturn [Launch] without tls_url
      def with_tls
        port = Port.free
        launch = yield port, TlsFiles.shared
        launch.tls_url = "https://127.0.0.1:#{port}"
        launch
      end
    end

    # The checkout's own server, with a second address for TLS. It serves the files itself.
    class NeverBlockTlsServer < NeverBlockServer
      include TlsServer

      # @param options [Hash] see NeverBlockServer
      def initialize(name, files:, **options)
        super(name, fibers: Servers::FIBERS, **options)
        @files = files
      end

      def launch(port:, app:, **)
        with_tls do |tls_port, tls|
          launch = super
          address = "https://127.0.0.1:#{tls_port}?cert=#{tls.certificate}&key=#{tls.key}"
          launch.command.push("-b", address, "--public", @files.call.directory)
          launch
        end
      end
    end

    # nginx with TLS and HTTP/2.
    class NginxTlsServer < NginxServer
      include TlsServer

      TEMPLATE = "benchmark/peers/nginx/tls.conf"

      def initialize(name, files:, **options)
        super(name, template: TEMPLATE, values: -> { @values_of_tls }, **options)
        @files = files
      end

      def launch(port:, directory:, **)
        with_tls do |tls_port, tls|
          @values_of_tls = { "tls_port" => tls_port.to_s, "certificate" => tls.certificate,
                             "key" => tls.key, "root" => @files.call.directory }
          super
        end
      end
    end

    # Puma with a second address for TLS.
    class PumaTlsServer < GemServer
      include TlsServer

      def launch(port:, app:, **)
        with_tls do |tls_port, tls|
          launch = super
          address = "ssl://127.0.0.1:#{tls_port}?cert=#{tls.certificate}&key=#{tls.key}"
          launch.command.insert(-2, "-b", address)
          launch
        end
      end
    end

    # Servers with TLS: ours, nginx, Puma.
    module TlsServers
      class << self
        # @param files [#call] returns the FileSet when a server is started
        # @return [Array<Server>]
        def all(files: FileSet.method(:shared))
          [NeverBlockTlsServer.new("neverblock", settings: "one process, TLS beside plain HTTP",
                                                 files: files),
           NginxTlsServer.new("nginx", settings: "one worker, TLS, HTTP/2, open_file_cache",
                                       files: files),
           puma(5)]
        end

        private

        def puma(threads)
          settings = "single mode, threads: #{threads}"
          PumaTlsServer.new("puma #{threads}", settings: settings) do |port, app|
            ["-C", File.join(ROOT, "benchmark/peers/puma/config.rb"), "-w", "0",
             "-t", "#{threads}:#{threads}", "-b", "tcp://127.0.0.1:#{port}", app]
          end
        end
      end
    end

    # One run with TLS: as Measurement, by the load generator that the load needs.
    class TlsMeasurement < Measurement
      GENERATORS = { Load => Wrk, Streams => H2load, Handshakes => HandshakeClient,
                     Beside => BesideDownload }.freeze

      # Sends a load by its generator.
      class Clients
        def run(load, **options) = GENERATORS.fetch(load.class).new.run(load, **options)
      end

      def initialize(load_generator: Clients.new) = super

      private

      def address(process) = process.tls_url
    end
  end
end
