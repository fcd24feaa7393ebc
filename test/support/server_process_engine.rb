# frozen_string_literal: true

# Starts a server through the Ruby API with settings the command line does not offer (yet), as
# ServerProcess expects it of a command.
#
#   ruby server_process_engine.rb RACKUP '{"header_timeout_ms": 200, "fibers": 4}' URL
#
# With NB_TEST_WORKERS it is a front with so many workers, which are forked from this process. With
# NB_TEST_IO_THREADS it has so many I/O threads.

$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))

require "json"
require "neverblock"
require "neverblock/boot/application"
require "neverblock/cluster/front"
require "neverblock/server"

# What a file and a command line would have said, but for what only Config.new takes.
class GivenSettings < NeverBlock::Config::Settings
  def initialize(given, url, workers)
    bind = NeverBlock::Config::Bind.parse(url)
    super(command: { bind: [bind], workers: workers })
    @given = given
  end

  def config(**fixed)
    super(**@given, **fixed)
  end
end

rackup, given, url = ARGV
given = {
  io_threads: Integer(ENV.fetch("NB_TEST_IO_THREADS", "1"), 10),
  **JSON.parse(given, symbolize_names: true)
}
settings = GivenSettings.new(given, url, Integer(ENV.fetch("NB_TEST_WORKERS", "1"), 10))
app = NeverBlock::Application.load(rackup)
front = -> {
  environment = NeverBlock::Config::Environment.new(ENV)
  NeverBlock::Cluster::Front.new(settings, environment: environment, app: app)
}
server = settings[:workers] > 1 ? front.call : NeverBlock::Server.new(settings.config, app)
exit NeverBlock::Server::Runner.new(server).run
