# frozen_string_literal: true

# Runs the server with its I/O loop always on a thread of its own. This is `neverblock` without the
# lease (docs/decisions/0001).
# Arguments as for the command: RACKUP -b URL -f N.

require "neverblock"
require "neverblock/server/runner"

rackup, _, url, _, fibers = ARGV
config = NeverBlock::Config.new(binds: [url], fibers: fibers, guest_turns: 0)
exit NeverBlock::Server::Runner.new(
  NeverBlock::Server.new(config, NeverBlock::Application.load(rackup))
).run
