# frozen_string_literal: true

# Sequel's extension query_blocker blocks the queries of a thread by `scope: :thread`, and here all
# requests have one. In an event loop that means the scheduled fiber, with those that it resumes.
# Sequel 5.110, extensions/query_blocker.rb.

require "neverblock/compat/owner"

module NeverBlock
  module Sequel
    # Prepended to Sequel::QueryBlocker.
    module QueryBlocker
      # Installs it once, when the extension is loaded.
      # @return [void]
      def self.install
        return unless defined?(::Sequel::QueryBlocker)

        blocker = ::Sequel::QueryBlocker
        blocker.prepend(self) unless blocker.include?(self)
      end

      # Prepended to Sequel::Database, which loads extensions.
      module Loader
        # @return [Sequel::Database]
        def extension(*)
          super.tap { QueryBlocker.install }
        end
      end

      # @return [Boolean] the fiber's own word comes before that of its request
      def block_queries?
        return super unless Compat.scheduler

        scopes = @blocked_query_scopes
        scopes.fetch(Fiber.current) { scopes.fetch(Compat::Owner.new) { super } }
      end

      private

      def query_blocker_scope(opts)
        scope = super
        scope.equal?(::Thread.current) && Compat.scheduler ? Compat::Owner.new : scope
      end
    end
  end
end
