# frozen_string_literal: true

# What libraries hold that must not be shared by processes, let go before each fork and taken again after it. Only where a library does not see to it itself:
#
#   ActiveRecord, every version here   a child discards what it inherits (5.2 and later, rails/rails#31173); the mold's own connections are closed, as nobody uses them
#   Sequel, every version              Database#disconnect before the fork (its documentation of forking servers); a child would use its parent's sockets
#   Mongoid 8.1 and later              disconnect_clients and reconnect_clients: a client's monitoring threads do not live in a child
#   SemanticLogger                     reopen: its thread does not live in a child
#
# These see to it themselves: NB::Pool::FiberedConnectionPool (a process id), redis-client and redis 5 (RedisClient::PIDCache), redis 4 (connects again in a child),
# dalli 2.7 and later (a process id), connection_pool 2.4 and later and ActiveSupport (Process._fork), concurrent-ruby (executors reset when forked).

module NeverBlock
  module Cluster
    module ForkSafety
      class << self
        # In the process that forks.
        # @return [void]
        def before
          disconnect_active_record if defined?(::ActiveRecord::Base) && !::ActiveRecord.autoload?(:Base)
          ::Sequel::DATABASES.each(&:disconnect) if defined?(::Sequel::DATABASES)
          ::Mongoid.disconnect_clients if mongoid?
        end

        # In the worker.
        # @return [void]
        def after
          ::Mongoid.reconnect_clients if mongoid?
          ::SemanticLogger.reopen if defined?(::SemanticLogger) && ::SemanticLogger.respond_to?(:reopen)
        end

        # Those of NB.offload are made anew; one that says thread_variable_get(:fork_safe) knows what it does (Puma reads the same).
        # @param threads [Array<Thread>]
        # @return [Array<String>] each of them that no child will have: what it is and where it stands
        def threads_left(threads = Thread.list)
          strange = threads.reject { |thread| thread == Thread.current || thread.thread_variable_get(:fork_safe) || thread.is_a?(Offload::Worker) }
          strange.map { |thread| "#{thread.name || thread.class} (at #{thread.backtrace&.first || made_at(thread)})" }
        end

        private

        # "#<Thread:0x00007f83d0 app.rb:3 run>": where its block is.
        def made_at(thread)
          thread.inspect[/ (\S+:\d+) /, 1] || "no line of Ruby"
        end

        # ActiveRecord.disconnect_all! is of 7.1 (rails/rails#47856).
        def disconnect_active_record
          return ::ActiveRecord.disconnect_all! if ::ActiveRecord.respond_to?(:disconnect_all!)

          ::ActiveRecord::Base.connection_handler.clear_all_connections!
        end

        def mongoid?
          defined?(::Mongoid) && ::Mongoid.respond_to?(:reconnect_clients)
        end
      end
    end
  end
end
