# frozen_string_literal: true

# Whose the state of a request is, as Rails sees it: its fiber's. Requests that run at once in one thread must not share CurrentAttributes, database connections and
# the like, so that serving does not leave the choice (DB::ActiveRecord.apply).

module NeverBlock
  module Isolation
    # What an operator reads when the application insists on threads.
    THREAD = "config.active_support.isolation_level = :thread is not followed: requests run at once in fibers of one thread, and would share CurrentAttributes and " \
             "database connections; remove the line (NeverBlock sets :fiber, in all of Rails' commands)"
    LATE = "this Rails application was loaded without NeverBlock's railtie: allowblock and its system test server are not there, and initializers have run with another " \
           "isolation level; its Gemfile takes gem \"neverblock\", without require: false"

    class << self
      # @return [Symbol, nil] what the application says, once the railtie has seen it
      attr_reader :chosen

      # @param level [Symbol, nil] of the application's settings
      # @return [void]
      def set(level)
        @chosen = level
        ActiveSupport::IsolatedExecutionState.isolation_level = level if level
      end

      # What must be said when an application is served, once it is loaded.
      # @return [Array<String>]
      def notices
        return [] unless defined?(::Rails::Railtie)
        return [LATE] unless defined?(::NeverBlock::Railtie)

        chosen == :thread ? [THREAD] : []
      end
    end
  end
end
