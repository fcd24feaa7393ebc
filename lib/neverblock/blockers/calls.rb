# frozen_string_literal: true

# Calls that may block the thread, and for which Ruby has no hook. They are made here where they are
# quick, and on a thread of NB.offload where they are not. Each call site is judged by itself. Its
# first calls are offloaded. Once they were quick, further calls are made here, until one is slow
# (core/base/call_sites.h, docs/decisions/0009). This helps only calls that release Ruby's lock
# while they wait: others stop every thread.
#
#   compat/slow_files.rb   files and folders, where Ruby has no hook
#   scheduler.rb           #blocking_operation_wait of Ruby 3.4: the same, and zlib
#   blockers/*.rb          gems, one file each, installed when they are loaded
#
# at_call_site, call_site, here?, timed and forget are in C
# (ext/neverblock/binding/stalls/blockers.c).

require "neverblock/boot/native"

module NeverBlock
  module Blockers
    # @!method self.at_call_site
    #   Calls the block, here or on a thread, as its call site has been judged. The call site is the
    #   calling method, its caller's line, and that one's caller's.
    #   @return what the block returns
    #   @raise what the block raises

    # @!method self.timed(key, here)
    #   Calls the block, and records how long it took for the call site, without its wait for Ruby's
    #   lock (from Ruby 3.3 on).
    #   @param key [Integer] of the call site
    #   @param here [Boolean] whether it runs on the fiber's own thread
    #   @return what the block returns

    # Calls the block on a thread of NB.offload, where there can be one, and records how long it
    # took. Parks the fiber until it has ended, also when the fiber is cancelled meanwhile: the call
    # may use memory of the fiber.
    # @param key [Integer] of the call site
    # @return what the block returns
    def self.elsewhere(key, &block)
      begun = false
      NeverBlock.offload(on_cancel: :wait) do
        begun = true
        timed(key, false, &block)
      end
    rescue Offload::NoWorker, FiberError # no memory maps for a thread, or for a fiber on it
      raise if begun

      block.call
    end
  end
end
