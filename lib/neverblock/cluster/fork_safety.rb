# frozen_string_literal: true

# Releases resources of libraries that processes must not share, before each fork, and opens them
# again after it. Only for libraries that do not do it themselves:
#
#   ActiveRecord, all versions   A child discards inherited connections (5.2 and later,
#                                rails/rails#31173). The mold's own are closed, as it needs none.
#   Sequel, all versions Database#disconnect before the fork, as its documentation of forking
#                                servers asks; a child would use its parent's sockets.
#   Mongoid 8.1 and later        disconnect_clients and reconnect_clients: a client's monitoring
#                                threads do not exist in a child.
#   SemanticLogger               reopen: its thread does not exist in a child.
#
# These handle a fork themselves: NB::Pool::FiberedConnectionPool (compares process ids),
# redis-client and redis 5 (RedisClient::PIDCache), redis 4 (reconnects in a child), dalli 2.7 and
# later (compares process ids), connection_pool 2.4 and later and ActiveSupport (Process._fork),
# concurrent-ruby (resets its executors).

module NeverBlock
  module Cluster
    module ForkSafety
      # The folder of our own code, which is skipped in backtraces.
      OURS = File.expand_path("..", __dir__)
      private_constant :OURS

      class << self
        # To be called before a fork, in the process that forks.
        # @return [void]
        def before
          disconnect_active_record if active_record?
          ::Sequel::DATABASES.each(&:disconnect) if defined?(::Sequel::DATABASES)
          ::Mongoid.disconnect_clients if mongoid?
        end

        # To be called after a fork, in the worker.
        # @return [void]
        def after
          ::Mongoid.reconnect_clients if mongoid?
          ::SemanticLogger.reopen if semantic_logger?
        end

        # Threads of NB.offload are not listed, because they are started again. Neither are threads
        # with the thread variable :fork_safe, which Puma reads too.
        # @param threads [Array<Thread>]
        # @return [Array<String>] each thread that a child will not have: what it is and where it
        #   runs
        def threads_left(threads = Thread.list)
          strange = threads.reject do |thread|
            thread == Thread.current || thread.thread_variable_get(:fork_safe) ||
              thread.is_a?(Offload::Worker)
          end
          strange.map do |thread|
            place = line_of(thread.backtrace) || made_at(thread)
            "#{thread.name || thread.class} (at #{place})"
          end
        end

        private

        # Where it waits, without the lines of ours by which it does.
        def line_of(backtrace)
          backtrace&.find { |line| !line.start_with?(OURS) } || backtrace&.first
        end

        # The place of its block, from "#<Thread:0x00007f83d0 app.rb:3 run>".
        def made_at(thread)
          thread.inspect[/ (\S+:\d+) /, 1] || "no line of Ruby"
        end

        def active_record?
          defined?(::ActiveRecord::Base) && !::ActiveRecord.autoload?(:Base)
        end

        # ActiveRecord.disconnect_all! exists since 7.1 (rails/rails#47856).
        def disconnect_active_record
          return ::ActiveRecord.disconnect_all! if ::ActiveRecord.respond_to?(:disconnect_all!)

          ::ActiveRecord::Base.connection_handler.clear_all_connections!
        end

        def semantic_logger?
          defined?(::SemanticLogger) && ::SemanticLogger.respond_to?(:reopen)
        end

        def mongoid?
          defined?(::Mongoid) && ::Mongoid.respond_to?(:reconnect_clients)
        end
      end
    end
  end
end
