# frozen_string_literal: true

# Starts a server through the Ruby API with settings the command line does not offer (yet), as ServerProcess expects it of a command.
#
#   ruby server_process_engine.rb RACKUP '{"header_timeout_ms": 200, "fibers": 4}'

$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))

require "json"
require "neverblock"
require "neverblock/application"
require "neverblock/server"

rackup, settings = ARGV
config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], **JSON.parse(settings, symbolize_names: true))
app = NeverBlock::Application.load(rackup)
exit NeverBlock::Server::Runner.new(NeverBlock::Server.new(config, app)).run
