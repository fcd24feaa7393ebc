# frozen_string_literal: true

# Looks at a running server from outside, through its admin address: what `neverblock status` and `neverblock top` are made of. Loads without the native part.

require "neverblock/errors"
require "neverblock/watch/address"
require "neverblock/watch/client"
require "neverblock/watch/document"
require "neverblock/watch/units"

module NeverBlock
  module Watch
  end
end
