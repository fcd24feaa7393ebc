# frozen_string_literal: true

# New Relic's agent adds up the time of transactions by Thread.current.object_id, which requests
# that run at once share. That leads to "Unable to calculate elapsed transaction time" and a wrong
# Instance/Busy. Here the request fiber's object_id is used. newrelic_rpm 9:
# lib/new_relic/agent/transaction_time_aggregator.rb; transaction.rb, initialize.
#
# A middleware that begins a transaction puts the request into a Hash that all its calls share, and
# reads it again (instrumentation/middleware_tracing.rb). A request that is preempted between the
# two is sent with the next one's path and headers. Here each call has a Hash of its own.
#
# While a line of a Logger is recorded, the Logger is marked, so that what recording logs is not
# recorded (instrumentation/logger/instrumentation.rb). Recording may wait: lines of others are lost
# meanwhile. Here the mark is the fiber's.
#
# What Thread.new and Fiber.new run belongs to the caller's transaction, by the agent's own
# extensions of them. Here that is so of NB.offload and a FiberPool too, whose threads and fibers
# are not made for each call.

require "neverblock/verbs/carry"

module NeverBlock
  module Compat
    module NewRelic
      # Installs it once, when the agent is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::NewRelic::Agent::TransactionTimeAggregator)
        return unless defined?(::NewRelic::Agent::Transaction)

        times = ::NewRelic::Agent::TransactionTimeAggregator.singleton_class
        times.prepend(Aggregator) unless times.include?(Aggregator)
        transaction = ::NewRelic::Agent::Transaction
        transaction.prepend(Transaction) unless transaction.include?(Transaction)
        apply_to_middleware
        apply_to_loggers
        carry
      end

      def self.carry
        return if @carried || !::NewRelic::Agent::Tracer.respond_to?(:thread_tracing_enabled?)

        @carried = true
        NeverBlock.carry(:new_relic) { carrier(::NewRelic::Agent::Tracer) }
      end

      # @return [Proc, nil]
      def self.carrier(tracer)
        return unless tracer.thread_tracing_enabled? && tracer.current_transaction

        traced = tracer.thread_block_with_current_transaction { |work| work.call }
        ->(&work) { traced.call(work) }
      end

      def self.apply_to_middleware
        return unless defined?(::NewRelic::Agent::Instrumentation::MiddlewareTracing)

        tracing = ::NewRelic::Agent::Instrumentation::MiddlewareTracing
        tracing.prepend(MiddlewareTracing) unless tracing.include?(MiddlewareTracing)
      end

      def self.apply_to_loggers
        return unless defined?(::NewRelic::Agent::Instrumentation::Logger)

        loggers = ::NewRelic::Agent::Instrumentation::Logger
        loggers.prepend(Logger) unless loggers.include?(Logger)
      end
      private_class_method :carry, :carrier, :apply_to_middleware, :apply_to_loggers

      # Prepended to TransactionTimeAggregator.singleton_class.
      module Aggregator
        def transaction_start(timestamp = Process.clock_gettime(Process::CLOCK_REALTIME))
          return super unless Compat.scheduler

          @lock.synchronize { set_transaction_start_time(timestamp, Scheduler.root.object_id) }
        end
      end

      # Prepended to Transaction. The id is used to stop its time.
      module Transaction
        def initialize(...)
          super
          @starting_thread_id = Scheduler.root.object_id if Compat.scheduler
        end
      end

      # Prepended to Instrumentation::MiddlewareTracing.
      module MiddlewareTracing
        def merge_first_middleware_options(options, env)
          super(options.dup, env)
        end
      end

      # Prepended to Instrumentation::Logger. The agent's own loggers stay marked for all.
      module Logger
        MARKED = :__neverblock_new_relic_marked
        private_constant :MARKED

        def skip_instrumenting?
          super || Thread.current[MARKED]&.key?(self) || false
        end

        def mark_skip_instrumenting
          (Thread.current[MARKED] ||= {}.compare_by_identity)[self] = true
        end

        def clear_skip_instrumenting
          Thread.current[MARKED]&.delete(self)
        end
      end
    end
  end
end
