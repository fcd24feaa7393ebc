# frozen_string_literal: true

# VCR keeps its cassettes, and the fibers of its around_http_request hooks, by Thread.current:
# requests that run in fibers of one thread would record on each other's. Here each request has its
# own (compat/owner.rb). vcr 6.4: lib/vcr.rb, lib/vcr/configuration.rb.

require "neverblock/compat/owner"

module NeverBlock
  module Compat
    module Vcr
      # Installs it once, when the gem is loaded.
      # @return [void]
      def self.apply
        Owner.stand_in(::VCR) if defined?(::VCR::MainThread)
      end
    end
  end
end
