# frozen_string_literal: true

require "shellwords"

module NeverBlock
  module Bench
    # The checkout's own server, serving a folder by one of its algorithms.
    class NeverBlockFileServer < NeverBlockServer
      # @param files [FileSet, #call] or what gives it when the server is started
      # @param algorithm [Symbol, nil] nil: nothing is said, and the server's default holds
      # @param buffer [Integer] bytes of a part
      # @param through [Symbol, nil] :to_path, :read: the application answers with the file, named or read; nil: the server does without it
      # @param options [Hash] as NeverBlockServer's
      def initialize(name, files:, algorithm: nil, buffer: FileServers::BUFFER, through: nil, **options)
        super(name, fibers: Servers::FIBERS, **options)
        @files = files
        @algorithm = algorithm
        @buffer = buffer
        @through = through
      end

      def launch(port:, app:, directory:, **)
        launch = super(port: port, app: app)
        Launch.new(command: [*launch.command, *(serving(directory) unless @through)],
                   environment: { **launch.environment, "NB_BENCH_FILES" => folder, "NB_BENCH_THROUGH" => @through.to_s })
      end

      private

      # Options of a server that serves the folder itself.
      def serving(directory)
        file = File.join(directory, "neverblock.rb")
        File.write(file, "sendfile { workers #{FileServers::SENDERS}; buffer #{@buffer} }\n")
        ["-C", file, "--public", folder, *(["--algorithm", @algorithm.to_s] if @algorithm)]
      end

      def folder
        (@files.respond_to?(:call) ? @files.call : @files).directory
      end
    end

    # nginx serving files in front of a Ruby server that has the application, as most are deployed: in one process group, so that both end together.
    class NginxBeforeServer < NginxServer
      # @param behind [Server] what /loop/ is passed on to
      # @param options [Hash] as NginxServer's
      def initialize(name, behind:, values:, **options)
        super(name, template: FileServers::TEMPLATE, values: -> { { **values.call, "behind" => @port.to_s } }, **options)
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
        Launch.new(command: ["sh", "-c", command], environment: { **behind.environment, **front.environment })
      end
    end

    # Servers of files: ours by each algorithm and through an application, nginx with sendfile and without.
    module FileServers
      TEMPLATE = "benchmark/peers/nginx/files.conf"
      # Threads that send, as published in 2009.
      SENDERS = 50
      # Bytes of a part that were tried then; the first is the default.
      BUFFER = 81_920
      BUFFER_SMALL = 40_960

      class << self
        # @param files [#call] gives the FileSet; asked when a server is started
        # @return [Array<Server>] of table G1, and nginx
        def algorithms(files: FileSet.method(:shared))
          [own("neverblock sba", files, algorithm: :sba), own("neverblock enba", files, algorithm: :enba), own("neverblock eba", files, algorithm: :eba),
           own("neverblock eba 40K", files, algorithm: :eba, buffer: BUFFER_SMALL), own("neverblock auto", files, algorithm: :auto), nginx("nginx", files)]
        end

        # @param files [#call] as algorithms'
        # @return [Array<Server>] of table Y1: the default and nginx, with sendfile and without
        def with_and_without(files: FileSet.method(:shared))
          [own("neverblock", files), nginx("nginx", files), own("neverblock to_path", files, through: :to_path),
           own("neverblock read", files, through: :read), nginx("nginx read", files, sendfile: false)]
        end

        # @param files [#call] as algorithms'
        # @return [Array<Server>] the default; nginx with our server behind it, for the application alone; nginx that reads the disk by threads of its own
        def beside_an_application(files: FileSet.method(:shared))
          behind = own("neverblock behind", files, through: :read)
          before = NginxBeforeServer.new("nginx", settings: "one worker, sendfile on, open_file_cache; the application in one process of neverblock behind it",
                                                  behind: behind, values: -> { nginx_values(files) })
          [own("neverblock", files), before, nginx("nginx aio", files, aio: "threads")]
        end

        # @param files [#call] as algorithms'
        # @return [Server]
        def own(name, files, algorithm: nil, buffer: BUFFER, through: nil)
          how = { nil => nil, to_path: "a Rack application names the file by to_path", read: "a Rack application reads the file" }.fetch(through)
          served = ["--public", *("algorithm #{algorithm}" if algorithm), "workers #{SENDERS}", "buffer #{buffer}"]
          settings = ["one process", *(how || served)].join(", ")
          NeverBlockFileServer.new(name, settings: settings, files: files, algorithm: algorithm, buffer: buffer, through: through)
        end

        # @param files [#call] as algorithms'
        # @return [Server]
        def nginx(name, files, sendfile: true, aio: "off")
          settings = "one worker, sendfile #{sendfile ? "on" : "off"}#{", aio #{aio}" unless aio == "off"}, open_file_cache"
          NginxServer.new(name, settings: settings, template: TEMPLATE, values: -> { nginx_values(files, sendfile: sendfile, aio: aio) })
        end

        private

        # Port 9 is where nobody listens (RFC 863): without a server behind it nginx passes nothing on.
        def nginx_values(files, sendfile: true, aio: "off")
          { "root" => files.call.directory, "sendfile" => sendfile ? "on" : "off", "aio" => aio, "behind" => "9" }
        end
      end
    end
  end
end
