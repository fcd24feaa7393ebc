# frozen_string_literal: true

# Requests that would only wait for a connection wait before the application is called
# (pool/admission_queue.rb). There they hold their environment and a short stack. In the application
# they would hold more memory, and a deep stack that each garbage collection walks.
#
# A request waits in the admission queue of a pool when the last request of its class went straight
# to that pool, without another wait before. The class is the method and the path, but for parts
# with digits. A request is never held back when the last of its class used no pool or waited for
# something else first: connections would then be idle meanwhile.

require "neverblock/verbs/deadline/of_request"
require "neverblock/errors"
require "neverblock/pool/admission_queue"

module NeverBlock
  module DB
    class Admission
      # The fiber-local that holds the request's Visit.
      KEY = :__neverblock_visit
      private_constant :KEY

      # Remembers which pool the requests of a class went straight to.
      class KnownQueues
        # Most request classes. Beyond that the one that was learned first is forgotten.
        MAX = 1000

        def initialize
          @queues = {}
        end

        # @param request_class [Integer]
        # @return [Pool::AdmissionQueue, nil]
        def queue_of(request_class)
          @queues[request_class]
        end

        # @param request_class [Integer]
        # @param queue [Pool::AdmissionQueue, nil] of the pool; nil: the request went to none
        def learn(request_class, queue)
          return if @queues[request_class].equal?(queue)
          return @queues.delete(request_class) if queue.nil?

          @queues.shift if @queues.size >= MAX
          @queues[request_class] = queue
        end
      end

      # One request in the application.
      class Visit
        def initialize(known_queues, request_class, scheduler)
          @known_queues = known_queues
          @request_class = request_class
          @scheduler = scheduler
          @switches = scheduler.switches
        end

        # The request asks for a connection of the queue's pool. Only its first call counts.
        def asks(queue)
          return if @asked

          @asked = true
          @known_queues.learn(@request_class, (queue if @scheduler.switches == @switches))
        end

        # The application has returned.
        def over
          @known_queues.learn(@request_class, nil) unless @asked
        end
      end

      class << self
        # @param app [#call] a Rack application
        # @return [#call] with this before it where a library is loaded whose pools have such queues
        def around(app)
          return new(app) if defined?(::ActiveRecord::ConnectionAdapters::ConnectionPool) ||
                             defined?(::Sequel::ConnectionPool)

          app
        end

        # The current fiber asks for a connection. Never parks.
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

      # The Rack application. Parks before it calls the wrapped one where a queue has no room.
      # @return [Array] the application's answer
      def call(env)
        scheduler = Compat.scheduler or return @app.call(env)
        request_class = Executor.request_class_of(env["REQUEST_METHOD"], env["PATH_INFO"])
        pass(request_class)
        visit(Visit.new(@known_queues, request_class, scheduler), env)
      end

      private

      # A request whose deadline passes here has not begun.
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
