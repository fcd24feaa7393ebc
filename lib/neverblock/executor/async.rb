# frozen_string_literal: true

# `scheduler :async`: the gem async, which is the application's own, and the scheduler of an
# executor whose requests are tasks of Async (scheduler/async.rb).

require "neverblock/errors"

module NeverBlock
  class Executor
    module Async
      # The first version that is known to work.
      OLDEST = "2.24"

      # Loads the gem, once the application's bundle is known.
      # @return [void]
      # @raise [StartError] when it is missing, or too old
      def self.load
        begin
          require "async"
        rescue LoadError => e
          raise unless e.path == "async" || e.message.end_with?("-- async")

          raise StartError, "scheduler async needs the gem async: write `gem \"async\", " \
                            "\"~> #{OLDEST}\"` in the Gemfile, and run bundle install"
        end
        too_old if Gem::Version.new(::Async::VERSION) < Gem::Version.new(OLDEST)
        require "neverblock/scheduler/async"
      end

      def self.too_old
        raise StartError, "scheduler async needs async #{OLDEST} or later, and the bundle has " \
                          "#{::Async::VERSION}: write `gem \"async\", \"~> #{OLDEST}\"` in the " \
                          "Gemfile, and run bundle update async"
      end
      private_class_method :too_old
    end

    private

    # @param scheduler [Scheduler] not run yet
    # @return [Scheduler::Async] above it
    # @raise [StartError]
    def scheduler_above(scheduler)
      Async.load
      Scheduler::Async.new(scheduler)
    end
  end
end
