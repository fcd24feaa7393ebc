# frozen_string_literal: true

# The workload's application in a server that ends with its standard input.
#
# NB_WORKLOAD_GC: "stress" collects at every allocation, "compact" also compacts at every
# collection, "between" does it between requests.
# NB_WORKLOAD_EXECUTORS: default 1.
# NB_WORKLOAD_TLS: a folder with server.pem, server.key and ca.pem: it also listens on an https
# address, and HUP has the files read anew.
# NB_WORKLOAD_STALL_MS: after how long the watchdog looks into a fiber.

ENV["BUNDLE_GEMFILE"] ||= File.expand_path("../../Gemfile", __dir__)
require "bundler/setup" unless ENV["NB_WORKLOAD_BARE"]
$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
require "neverblock"
require "rack"
require_relative "workload"

# For each client of the soak one, as all may have their executor kept at once.
SPARES = 8

app = Workload::App.new
if ENV["NB_WORKLOAD_GC"] == "between"
  inner = app
  app = lambda do |env|
    if GC.respond_to?(:verify_compaction_references) && env["PATH_INFO"] == "/hello"
      GC.verify_compaction_references(toward: :empty)
    else
      GC.compact
    end
    inner.call(env)
  end
end
watch = {}
watch[:stall_ms] = Integer(ENV["NB_WORKLOAD_STALL_MS"], 10) if ENV.key?("NB_WORKLOAD_STALL_MS")
binds = ["http://127.0.0.1:0"]
if (folder = ENV["NB_WORKLOAD_TLS"])
  binds << "https://127.0.0.1:0?cert=#{folder}/server.pem&key=#{folder}/server.key" \
           "&verify=optional&ca=#{folder}/ca.pem"
end
# Figures, records and accounts of requests are kept too.
config = NeverBlock::Config.new(binds: binds, admin: "http://127.0.0.1:0", server_timing: true,
                                executors: ENV.fetch("NB_WORKLOAD_EXECUTORS", "1"), fibers: 256,
                                slice_ms: 1, spares: SPARES, body_timeout_ms: 60_000,
                                handshake_timeout_ms: 60_000, header_timeout_ms: 60_000,
                                routes: [["/taken", { input: :stream }]], **watch)
server = NeverBlock::Server.new(config, app).start
# A handler must not take locks.
trap("HUP") { Thread.new { server.renew_certificates } }
$stdout.puts(server.urls)
$stdout.flush
GC.auto_compact = true if ENV["NB_WORKLOAD_GC"] == "compact"
GC.stress = true if %w[stress compact].include?(ENV["NB_WORKLOAD_GC"])
$stdin.read
GC.stress = false
exit(server.stop(timeout: 30))
