# frozen_string_literal: true

require_relative "../server_process"

module OnThreads
  # Puma with a thread for each client, or ours.
  class Server < ServerProcess
    # @param kind [Symbol] :puma, or a key of OURS
    # @param text [String] of the rackup file
    # @param clients [Integer] as many threads Puma has
    # @param env [Hash{String => String, nil}] with the gems of both
    # @param hogs [Integer] as many requests compute beside those of the clients
    def initialize(kind, text, clients:, env:, hogs: HOGS.fetch(kind, 0))
      super(text, env: env)
      @kind = kind
      @clients = clients
      @hogs = hogs
    end

    # @return [Integer]
    attr_reader :hogs

    # Settings of ours.
    OURS = {
      calm: "",
      sliced: "executor { slice_ms 1 }\n",
      hogs: "executor { slice_ms 1 }\n",
      workers: "executor { slice_ms 1 }\nworkers 2\n"
    }.freeze
    HOGS = { hogs: 2, workers: 4 }.freeze

    private

    def words(rackup)
      ruby = [RbConfig.ruby, "-rbundler/setup"]
      if @kind == :puma
        return [*ruby, "-e", "load Gem.bin_path(\"puma\", \"puma\")", "--", "-q",
                "-t", ([@clients + @hogs] * 2).join(":"), "-b", "tcp://127.0.0.1:0", rackup]
      end

      File.write(settings = in_directory("neverblock.rb"), OURS.fetch(@kind))
      [*ruby, "-I", File.join(ROOT, "lib"), File.join(ROOT, "exe/neverblock"), rackup,
       "-C", settings, "-b", "http://127.0.0.1:0"]
    end
  end
end
