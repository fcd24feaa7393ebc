# frozen_string_literal: true

# Calls that may keep the thread and that no hook of Ruby tells of: made here where they are quick, on a thread of NB.offload where they are not. Each place in the code that
# makes such calls is judged by itself: its first calls are made elsewhere, and once they have been found quick it is trusted, until one is slow (core/base/call_sites.h,
# docs/decisions/0009). Only calls that release Ruby's lock while they wait are worth it: the others stop every thread.
#
#   compat/slow_files.rb   files and folders, where Ruby has no hook
#   scheduler.rb           #blocking_operation_wait of Ruby 3.4: the same, and zlib
#   blockers/*.rb          gems, one file each, put in place when they are loaded
#
# at_site, site, here?, timed and forget are in C (ext/neverblock/binding/stalls/blockers.c).

require "neverblock/boot/native"

module NeverBlock
  module Blockers
    # @!method self.at_site
    #   Calls the block, here or elsewhere, as the place that asks has earned: the calling method, its caller's line, and that one's caller's.
    #   @return what the block returns
    #   @raise what the block raises

    # @!method self.timed(key, here)
    #   Calls the block; the place learns how long it took, without what it has waited for Ruby's lock (from Ruby 3.3 on).
    #   @param key [Integer] of the place
    #   @param here [Boolean] whether it is made by the fiber's own thread
    #   @return what the block returns

    # Calls the block on a thread of NB.offload, where there can be one, and learns from it. The fiber parks until it has ended, also when it is cancelled meanwhile: what the
    # call writes or uses is not left to it.
    # @param key [Integer] of the place
    # @return what the block returns
    def self.elsewhere(key, &block)
      begun = false
      NeverBlock.offload(on_cancel: :wait) do
        begun = true
        timed(key, false, &block)
      end
    rescue Offload::NoWorker, FiberError # without memory maps there is neither a thread nor, on it, a fiber
      raise if begun

      block.call
    end
  end
end
