# frozen_string_literal: true

module NeverBlock
  module Bench
    # The checkout's own server with a served file, an admin address, and lines of configuration.
    class NeverBlockStallServer < NeverBlockServer
      # @param configuration [String] content of the configuration file
      # @param files [#call] returns the FileSet when the server is started
      # @param options [Hash] see NeverBlockServer
      def initialize(name, configuration: "", files: FileSet.method(:shared), **options)
        super(name, fibers: Servers::FIBERS, **options)
        @configuration = configuration
        @files = files
      end

      def launch(port:, app:, directory:, **)
        file = File.join(directory, "neverblock.rb")
        File.write(file, @configuration)
        launch = super(port: port, app: app)
        launch.admin_url = "http://127.0.0.1:#{Port.free}"
        launch.command += ["-C", file, "--public", @files.call.directory,
                           "--admin", launch.admin_url]
        launch
      end
    end

    # Our server with and without its means against code that does not wait.
    module StallServers
      # Part of the settings in reports.
      OFF = "no watch, no slices, no spares"

      class << self
        # @return [Array<Server>] the default; without any of these means; two workers; only the
        #   stall watch
        def all
          [own("neverblock"),
           own("neverblock off", settings: "one process, #{OFF}",
                                 configuration: "cooperative true\nexecutor { stall_ms 0 }\n"),
           own("neverblock w2", settings: "2 workers", workers: 2),
           own("neverblock watch", settings: "one process, no slices, no spares",
                                   configuration: "cooperative true\n")]
        end

        private

        def own(name, settings: "one process", **options)
          settings = "#{settings}, fibers: #{Servers::FIBERS}"
          NeverBlockStallServer.new(name, settings: settings, **options)
        end
      end
    end
  end
end
