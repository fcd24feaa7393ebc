# frozen_string_literal: true

# ActiveSupport's ShareLock identifies its owners by Thread.current. Through it Rails unloads no
# class while a request runs. Requests that run in fibers of one thread are one owner to it, so that
# a changed file is reloaded while requests use it ("A copy of X has been removed from the module
# tree but is still active"). Here each request is an owner (compat/owner.rb). 7.0 to 8.1:
# lib/active_support/concurrency/share_lock.rb, which uses no other method of Thread than
# Thread.current; ActionDispatch::DebugLocks calls status and backtrace of an owner.

require "neverblock/compat/owner"

module NeverBlock
  module Compat
    module ShareLock
      # Installs it once, when ActiveSupport's is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::ActiveSupport::Concurrency::ShareLock)
        return unless defined?(::ActiveSupport::VERSION::MAJOR)
        return unless ::ActiveSupport::VERSION::MAJOR < 9

        Owner.stand_in(::ActiveSupport::Concurrency::ShareLock)
      end
    end
  end
end
