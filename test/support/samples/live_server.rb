# frozen_string_literal: true

require_relative "../server_process"
require_relative "sandbox"

module Samples
  # The server that samples ask for figures, one for all of them. It has workers, an admin address
  # and one with TLS.
  module LiveServer
    module_function

    # @return [Hash{String => String}] variables for samples/commands
    def env
      @env ||= start
    end

    def start
      folder = Dir.mktmpdir("neverblock-live")
      sandbox = Sandbox.new(folder)
      pidfile = sandbox.at("tmp/live.pid")
      secure = "https://127.0.0.1:0?cert=#{sandbox.at("a.pem")}&key=#{sandbox.at("a.key")}"
      server = ServerProcess.new(
        Sandbox::APP, binds: ["http://127.0.0.1:0", secure],
                      options: ["-w", "2", "--admin", "http://127.0.0.1:0", "--pidfile", pidfile]
      ).start
      Minitest.after_run do
        server.stop
        FileUtils.rm_rf(folder)
      end
      { "SAMPLES_URL" => server.urls[0], "SAMPLES_SECURE" => server.urls[1],
        "SAMPLES_ADMIN" => server.admin_url, "SAMPLES_PIDFILE" => pidfile }
    end

    private_class_method :start
  end
end
