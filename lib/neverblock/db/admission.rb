# frozen_string_literal: true

# Requests that would only wait for a connection wait before the application is called (pool/queue.rb): there they hold their environment and a short stack, where in
# an application they hold all it has done so far, and a deep stack that every collection walks.
#
# A request is held at a pool's queue when the last one request_class it (the same method and path, but for parts with digits) went straight to that pool: without waiting for
# anything else before. Whose request_class has used no pool, or has waited for something else first, is never held: that wait is not the pool's business, and
# connections would stand idle meanwhile.

require "neverblock/verbs/deadline/of_request"
require "neverblock/errors"
require "neverblock/pool/admission_queue"

module NeverBlock
  module DB
    class Admission
      # The fiber-local that holds the request's visit.
      KEY = :__neverblock_visit
      private_constant :KEY

      # Remembers what requests went straight to which pool.
      class KnownQueues
        # With more the one that was learned first is forgotten.
        MAX = 1000

        def initialize
          @queues = {}
        end

        # @return [Pool::AdmissionQueue, nil]
        def queue_of(request_class)
          @queues[request_class]
        end

        # @param queue [Pool::AdmissionQueue, nil] nil: it went to none
        def learn(request_class, queue)
          return if @queues[request_class].equal?(queue)
          return @queues.delete(request_class) if queue.nil?

          @queues.shift if @queues.size >= MAX
          @queues[request_class] = queue
        end
      end

      # A request in the application.
      class Visit
        def initialize(known_queues, request_class, scheduler)
          @known_queues = known_queues
          @request_class = request_class
          @scheduler = scheduler
          @switches = scheduler.switches
        end

        # It asks for a connection of the queue's pool.
        def asks(queue)
          return if @asked

          @asked = true
          @known_queues.learn(@request_class, (queue if @scheduler.switches == @switches))
        end

        # The application has answered.
        def over
          @known_queues.learn(@request_class, nil) unless @asked
        end
      end

      class << self
        # @param app [#call] a Rack application
        # @return [#call] with this before it where a library is loaded whose pools have gates
        def around(app)
          defined?(::ActiveRecord::ConnectionAdapters::ConnectionPool) || defined?(::Sequel::ConnectionPool) ? new(app) : app
        end

        # The current fiber asks for a connection.
        # @param queue [Pool::AdmissionQueue, nil] of the pool
        # @return [void]
        def asks(queue)
          Thread.current[KEY]&.asks(queue)
        end
      end

      def initialize(app)
        @app = app
        @known_queues = KnownQueues.new
      end

      # As Rack has it; parks before the application where the file says so.
      # @return [Array] the application's answer
      def call(env)
        scheduler = Compat.scheduler or return @app.call(env)
        request_class = Executor.like_of(env["REQUEST_METHOD"], env["PATH_INFO"])
        pass(request_class)
        visit(Visit.new(@known_queues, request_class, scheduler), env)
      end

      private

      # Whose time is over here has not begun.
      def pass(request_class)
        @known_queues.queue_of(request_class)&.pass(request_class)
      rescue DeadlineExceeded => e
        e.deadline.unbegun! if e.deadline.is_a?(Deadline::OfRequest)
        raise
      end

      def visit(visit, env)
        Thread.current[KEY] = visit
        @app.call(env)
      ensure
        Thread.current[KEY] = nil
        visit.over
      end
    end
  end
end
