# frozen_string_literal: true

# Everything there is, without what `require "neverblock"` adds for the framework that is loaded at that moment: the command begins with this file, so that an application's
# Gemfile, which is read later, still meets that one for the first time.

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
require "neverblock/pool/fiber_pool"
require "neverblock/pool/fibered_connection_pool"
require "neverblock/legacy"
require "neverblock/executor/report"
require "neverblock/boot/application"
require "neverblock/server"

# The short name, as it was in 2008.
NB = NeverBlock
