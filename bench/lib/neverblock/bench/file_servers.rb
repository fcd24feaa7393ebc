# frozen_string_literal: true

require "shellwords"

module NeverBlock
  module Bench
    # The checkout's own server, which serves a folder by one of its algorithms.
    class NeverBlockFileServer < NeverBlockServer
      # @param files [FileSet, #call] the files, or what returns them when the server is started
      # @param algorithm [Symbol, nil] nil: the server's default
      # @param buffer [Integer] bytes of a part
      # @param through [Symbol, nil] :to_path, :read: the application answers with the file, by name
      #   or after reading it; nil: the server alone answers
      # @param options [Hash] see NeverBlockServer
      def initialize(name, files:, algorithm: nil, buffer: FileServers::BUFFER, through: nil,
                     **options)
        super(name, fibers: Servers::FIBERS, **options)
        @files = files
        @algorithm = algorithm
        @buffer = buffer
        @through = through
      end

      def launch(port:, app:, directory:, **)
        launch = super(port: port, app: app)
        environment = { **launch.environment, "NB_BENCH_FILES" => folder,
                        "NB_BENCH_THROUGH" => @through.to_s }
        Launch.new(command: [*launch.command, *(serving(directory) unless @through)],
                   environment: environment)
      end

      private

      # Options for a server that serves the folder itself.
      def serving(directory)
        file = File.join(directory, "neverblock.rb")
        File.write(file, "sendfile { workers #{FileServers::SENDERS}; buffer #{@buffer} }\n")
        ["-C", file, "--public", folder, *(["--algorithm", @algorithm.to_s] if @algorithm)]
      end

      def folder
        (@files.respond_to?(:call) ? @files.call : @files).directory
      end
    end

    # nginx that serves files in front of a Ruby server with the application, as in most
    # deployments. Both are in one process group, so that they end together.
    class NginxBeforeServer < NginxServer
      # @param behind [Server] gets the requests for /loop/
      # @param options [Hash] see NginxServer
      def initialize(name, behind:, values:, **options)
        with_port = -> { { **values.call, "behind" => @port.to_s } }
        super(name, template: FileServers::TEMPLATE, values: with_port, **options)
        @behind = behind
      end

      def prepare(&progress)
        super
        @behind.prepare(&progress)
      end

      def launch(port:, app:, directory:, **)
        @port = Port.free
        behind = @behind.launch(port: @port, app: app, directory: directory)
        front = super
        command = "#{Shellwords.join(behind.command)} & exec #{Shellwords.join(front.command)}"
        Launch.new(command: ["sh", "-c", command],
                   environment: { **behind.environment, **front.environment })
      end
    end

    # Servers of files: ours by each algorithm and through an application, nginx with and without
    # sendfile.
    module FileServers
      TEMPLATE = "benchmark/peers/nginx/files.conf"
      # Sending threads, as in the figures published in 2009.
      SENDERS = 50
      # Part sizes in bytes of the same figures; the first is the default.
      BUFFER = 81_920
      BUFFER_SMALL = 40_960

      class << self
        # @param files [#call] returns the FileSet when a server is started
        # @return [Array<Server>] of table G1, and nginx
        def algorithms(files: FileSet.method(:shared))
          [*%i[sba enba eba].map { |name| own("neverblock #{name}", files, algorithm: name) },
           own("neverblock eba 40K", files, algorithm: :eba, buffer: BUFFER_SMALL),
           own("neverblock auto", files, algorithm: :auto),
           nginx("nginx", files)]
        end

        # @param files [#call] see algorithms
        # @return [Array<Server>] of table Y1: the default and nginx, with sendfile and without
        def with_and_without(files: FileSet.method(:shared))
          [own("neverblock", files), nginx("nginx", files),
           own("neverblock to_path", files, through: :to_path),
           own("neverblock read", files, through: :read),
           nginx("nginx read", files, sendfile: false)]
        end

        # @param files [#call] see algorithms
        # @return [Array<Server>] the default; nginx with our server behind it for the application;
        #   nginx that reads the disk by threads of its own
        def beside_an_application(files: FileSet.method(:shared))
          [own("neverblock", files), nginx_before(files), nginx("nginx aio", files, aio: "threads")]
        end

        # @param files [#call] see algorithms
        # @return [Server]
        def nginx_before(files)
          settings = "one worker, sendfile on, open_file_cache; the application in one process " \
                     "of neverblock behind it"
          NginxBeforeServer.new("nginx", settings: settings, values: -> { nginx_values(files) },
                                         behind: own("neverblock behind", files, through: :read))
        end

        THROUGH = {
          nil => nil,
          to_path: "a Rack application names the file by to_path",
          read: "a Rack application reads the file"
        }.freeze
        private_constant :THROUGH

        # @param files [#call] see algorithms
        # @return [Server]
        def own(name, files, algorithm: nil, buffer: BUFFER, through: nil)
          served = ["--public", *("algorithm #{algorithm}" if algorithm), "workers #{SENDERS}",
                    "buffer #{buffer}"]
          settings = ["one process", *(THROUGH.fetch(through) || served)].join(", ")
          NeverBlockFileServer.new(name, settings: settings, files: files, algorithm: algorithm,
                                         buffer: buffer, through: through)
        end

        # @param files [#call] see algorithms
        # @return [Server]
        def nginx(name, files, sendfile: true, aio: "off")
          switch = sendfile ? "on" : "off"
          threads = ", aio #{aio}" unless aio == "off"
          values = -> { nginx_values(files, sendfile: sendfile, aio: aio) }
          settings = "one worker, sendfile #{switch}#{threads}, open_file_cache"
          NginxServer.new(name, settings: settings, template: TEMPLATE, values: values)
        end

        private

        # Port 9 is unused (RFC 863): without a server behind it, nginx passes no request on.
        def nginx_values(files, sendfile: true, aio: "off")
          { "root" => files.call.directory, "sendfile" => sendfile ? "on" : "off", "aio" => aio,
            "behind" => "9" }
        end
      end
    end
  end
end
