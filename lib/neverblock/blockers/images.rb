# frozen_string_literal: true

# Images. ruby-vips computes when an operation is built (lib/vips/operation.rb,
# vips_cache_operation_build with `blocking: true`). For operations that write or sum that is all of
# the work. mini_magick starts a process, for which the loop waits anyway.

require "neverblock/blockers/gem"

module NeverBlock
  module Blockers
    gem "ruby-vips", ">= 2.1", "< 3", owner: "Vips::Operation", names: %i[build]
  end
end
