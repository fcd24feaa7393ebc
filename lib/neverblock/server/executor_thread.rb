# frozen_string_literal: true

# An executor on a thread of its own, so that the main thread stays free for signals (a signal must not land on a thread that runs a scheduler).

require "neverblock/errors"

module NeverBlock
  class Server
    module ExecutorThread
      ENDED = "its thread was ended (Thread.exit or Thread#kill) by a request or by something else"

      module_function

      # @param executor [#run]
      # @param name [String] the thread's
      # @yieldparam failure [Exception, nil] what it ended by before its time; on its thread, when it has ended
      # @return [Thread]
      def start(executor, name)
        thread = Thread.new do
          Thread.current.report_on_exception = false
          failure = Error.new(ENDED)
          executor.run
          failure = nil
        rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, a server without its executor must end and say why
          failure = e
        ensure
          yield failure
        end
        thread.tap { thread.name = name }
      end
    end
  end
end
