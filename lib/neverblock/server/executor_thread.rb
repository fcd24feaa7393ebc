# frozen_string_literal: true

# Runs an executor on a thread of its own, so that signals run on the main thread: a signal handler
# must not run on a thread with a fiber scheduler.

require "neverblock/errors"

module NeverBlock
  class Server
    module ExecutorThread
      ENDED = "its thread was ended (Thread.exit or Thread#kill) by a request or by other code"

      module_function

      # @param executor [#run]
      # @param name [String] the thread's name
      # @yieldparam failure [Exception, nil] the exception that ended it; called on its thread at
      #   its end
      # @return [Thread]
      def start(executor, name)
        thread = Thread.new do
          Thread.current.report_on_exception = false
          failure = Error.new(ENDED)
          executor.run
          failure = nil
        rescue Exception => e # rubocop:disable Lint/RescueException -- the server ends and logs it
          failure = e
        ensure
          yield failure
        end
        thread.tap { thread.name = name }
      end
    end
  end
end
