# frozen_string_literal: true

# The executors of a process beside its first, each on a thread of its own: spares, which take over
# while a call without Ruby's lock blocks the executor before them
# (core/dispatch/dispatch_spares.c), and the threads of lanes, which run one request at a time. They
# end when the first has ended.

require "neverblock/server/executor_thread"

module NeverBlock
  class Server
    class Helpers
      # @return [Array<Thread>]
      attr_reader :threads

      # @param spares [Array<Executor>]
      # @param lanes [Array<Executor>]
      def initialize(spares, lanes)
        @executors = [*named(spares, "nb-spare"), *named(lanes, "nb-lane")]
        @threads = []
      end

      # @return [Integer]
      def size
        @executors.size
      end

      # @yieldparam failure [Exception, nil] see ExecutorThread.start; called for each
      # @return [void]
      def start(&on_end)
        @threads = @executors.map { |executor, name| ExecutorThread.start(executor, name, &on_end) }
      end

      # Ends them. To be called when the first executor has ended: they would get no more requests.
      # @return [void]
      def finish
        @executors.each { |executor, _name| executor.finish }
      end

      private

      def named(executors, name)
        executors.each_with_index.map { |executor, number| [executor, "#{name}-#{number}"] }
      end
    end
  end
end
