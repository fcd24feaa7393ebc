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
require "neverblock/run"
require "neverblock/blocking_mode"
require "neverblock/deadline"
require "neverblock/offload"
require "neverblock/all"
require "neverblock/pool"
require "neverblock/legacy"
require "neverblock/executor/report"
require "neverblock/boot/application"
require "neverblock/server"

# The short name, as it was in 2008.
NB = NeverBlock
