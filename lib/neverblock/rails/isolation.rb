# frozen_string_literal: true

# Rails keeps the state of a request (CurrentAttributes, database connections and others) by fiber
# or by thread. Requests that run at once in one thread must not share it, so it must be by fiber.
# The server sets that whatever the application says (DB::ActiveRecord.apply).

module NeverBlock
  module Isolation
    # Notice for an application that chooses threads.
    THREAD = "config.active_support.isolation_level = :thread is not followed by the server: " \
             "requests run at once in fibers of one thread, and would share CurrentAttributes " \
             "and database connections; " \
             "remove the line (NeverBlock sets :fiber, in all of Rails' commands)"
    # Notice for an application without the railtie.
    LATE = "this Rails application was loaded without NeverBlock's railtie: allowblock and its " \
           "system test server are not there, and initializers have run with another " \
           "isolation level; its Gemfile takes gem \"neverblock\", without require: false"

    class << self
      # @return [Symbol, nil] the application's setting; nil before the railtie has read it
      attr_reader :chosen

      # @param level [Symbol, nil] the application's setting
      # @return [void]
      def set(level)
        @chosen = level
        ActiveSupport::IsolatedExecutionState.isolation_level = level if level
      end

      # @return [Array<String>] notices for the operator, once the application is loaded
      def notices
        return [] unless defined?(::Rails::Railtie)
        return [LATE] unless defined?(::NeverBlock::Railtie)

        chosen == :thread ? [THREAD] : []
      end
    end
  end
end
