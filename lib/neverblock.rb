# frozen_string_literal: true

# NeverBlock: an application server whose I/O loop is a native thread without Ruby's lock and whose requests run in fibers.
#
#   require "neverblock"
#   server = NeverBlock::Server.new(NeverBlock::Config.new(binds: ["http://127.0.0.1:0"]), app).start
#   server.urls    # => ["http://127.0.0.1:40123"]
#   server.stop

require "neverblock/version"
require "neverblock/errors"
require "neverblock/config"
require "neverblock/log"
require "neverblock/error_stream"
require "neverblock/native"
require "neverblock/scheduler"
require "neverblock/run"
require "neverblock/blocking_mode"
require "neverblock/deadline"
require "neverblock/offload"
require "neverblock/all"
require "neverblock/pool"
require "neverblock/legacy"
require "neverblock/executor"
require "neverblock/application"
require "neverblock/server"

NeverBlock::DB::ActiveRecord.register

# The short name, as it was in 2008.
NB = NeverBlock
