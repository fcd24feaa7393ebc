# frozen_string_literal: true

# ActiveSupport::Notifications::Fanout (7.1 to 8.1) has locks that are taken in two orders
# (rails/rails#58365). #groups_for holds the lock of a cache and takes the mutex of the subscribers,
# where these are not cached; #subscribe and #unsubscribe hold the mutex and take the lock of the
# cache. When both happen at once, each waits for the other for ever, and so does every later event
# of that name. On threads that is rare; time slices make it likely.
#
# Here #groups_for lets its lock go, looks for the subscribers, and tries again. Nothing is added
# where they are cached.

module NeverBlock
  module Compat
    module Notifications
      # Subscribers are needed that are not cached, while the lock of a cache is held.
      class NotCached < StandardError
        def initialize = super("the subscribers are looked for without the lock")
        def backtrace = []
      end

      CACHES = %i[@groups_for @silenceable_groups_for].freeze

      # Installs it once, when ActiveSupport's is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::ActiveSupport::Notifications::Fanout)
        return unless defined?(::ActiveSupport::VERSION::MAJOR)
        return unless ::ActiveSupport::VERSION::MAJOR < 9

        fanout = ::ActiveSupport::Notifications::Fanout
        return if fanout.include?(Ordered) || !fanout.method_defined?(:groups_for)

        fanout.prepend(Ordered)
      end

      # Prepended to Fanout.
      module Ordered
        def groups_for(name)
          super
        rescue NotCached
          all_listeners_for(name)
          retry
        end

        # Looks once: what is cached may be gone at a second look.
        def all_listeners_for(name)
          return super unless holds_a_cache?

          @all_listeners_for[name] || raise(NotCached)
        end

        private

        # Concurrent::Map of MRI has a Mutex around what changes it.
        def holds_a_cache?
          CACHES.any? do |name|
            lock = instance_variable_get(name)&.instance_variable_get(:@write_lock)
            lock.is_a?(::Thread::Mutex) && lock.owned?
          end
        end
      end
    end
  end
end
