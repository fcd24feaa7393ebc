# frozen_string_literal: true

# All of the library, without what `require "neverblock"` adds for a framework that is loaded at
# that moment. The command loads this file first, so that a later `require "neverblock"` in an
# application's Gemfile still finds work to do.

require "neverblock/version"
require "neverblock/errors"
require "neverblock/config"
require "neverblock/log"
require "neverblock/rack/error_stream"
require "neverblock/boot/native"
require "neverblock/scheduler"
require "neverblock/verbs/run"
require "neverblock/verbs/blocking_mode"
require "neverblock/verbs/deadline"
require "neverblock/verbs/offload"
require "neverblock/verbs/all"
require "neverblock/verbs/carry"
require "neverblock/verbs/circuit_breaker"
require "neverblock/pool/fiber_pool"
require "neverblock/pool/fibered_connection_pool"
require "neverblock/pool/bulkhead"
require "neverblock/legacy"
require "neverblock/executor/report"
require "neverblock/tls/peer"
require "neverblock/boot/application"

module NeverBlock
  # A program that uses the verbs alone serves nothing. What serves requires this file at its start.
  autoload :Server, "neverblock/server"
end

# The short name, in use since 2008.
NB = NeverBlock
