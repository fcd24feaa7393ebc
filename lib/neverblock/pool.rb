# frozen_string_literal: true

# NB::Pool: pools of fibers and of connections, under the names they had in 2008.

require "neverblock/fiber_pool"
require "neverblock/pool/fibered_connection_pool"

module NeverBlock
  module Pool
    FiberPool = NeverBlock::FiberPool
  end
end
