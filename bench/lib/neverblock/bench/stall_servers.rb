# frozen_string_literal: true

module NeverBlock
  module Bench
    # The checkout's own server with a file served by itself, an address for its health, and lines of configuration.
    class NeverBlockStallServer < NeverBlockServer
      # @param configuration [String] of the configuration file
      # @param files [#call] gives the FileSet; asked when the server is started
      # @param options [Hash] as NeverBlockServer's
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
        launch.command += ["-C", file, "--public", @files.call.directory, "--admin", launch.admin_url]
        launch
      end
    end

    # Ours with and without what works around code that does not wait.
    module StallServers
      # What each of the names is, beside "one process" or "2 workers".
      OFF = "no watch, no slices, no spares"

      class << self
        # @return [Array<Server>] as a user has it; with nothing that looks after stalls; two workers; with the watch alone
        def all
          [own("neverblock"), own("neverblock off", settings: "one process, #{OFF}", configuration: "cooperative true\nexecutor { stall_ms 0 }\n"),
           own("neverblock w2", settings: "2 workers", workers: 2),
           own("neverblock watch", settings: "one process, no slices, no spares", configuration: "cooperative true\n")]
        end

        private

        def own(name, settings: "one process", **options)
          NeverBlockStallServer.new(name, settings: "#{settings}, fibers: #{Servers::FIBERS}", **options)
        end
      end
    end
  end
end
