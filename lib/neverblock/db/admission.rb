# frozen_string_literal: true

# Requests that would only wait for a connection wait before the application is called (pool/gate.rb): there they hold their environment and a short stack, where in
# an application they hold all it has done so far, and a deep stack that every collection walks.
#
# A request is held at a pool's gate when the last one of its class (the same method and path, but for parts with digits) went straight to that pool: without waiting
# for anything else before. A request whose class has used no pool, or has waited for something else first, is never held: that wait is not the pool's business, and
# connections would stand idle meanwhile.

require "neverblock/verbs/deadline/of_request"
require "neverblock/errors"
require "neverblock/pool/gate"

module NeverBlock
  module DB
    class Admission
      # The fiber-local that holds the request's visit.
      KEY = :__neverblock_visit
      private_constant :KEY

      # Remembers which request classes went straight to which pool.
      class RequestClasses
        # With more the one that was learned first is forgotten.
        MAX = 1000

        def initialize
          @gates = {}
        end

        # @return [Pool::Gate, nil]
        def gate(request_class)
          @gates[request_class]
        end

        # @param gate [Pool::Gate, nil] nil: it went to none
        def learn(request_class, gate)
          return if @gates[request_class].equal?(gate)
          return @gates.delete(request_class) if gate.nil?

          @gates.shift if @gates.size >= MAX
          @gates[request_class] = gate
        end
      end

      # A request in the application.
      class Visit
        def initialize(request_classes, request_class, scheduler)
          @request_classes = request_classes
          @request_class = request_class
          @scheduler = scheduler
          @switches = scheduler.switches
        end

        # It asks for a connection of the gate's pool.
        def asks(gate)
          return if @asked

          @asked = true
          @request_classes.learn(@request_class, (gate if @scheduler.switches == @switches))
        end

        # The application has answered.
        def over
          @request_classes.learn(@request_class, nil) unless @asked
        end
      end

      class << self
        # @param app [#call] a Rack application
        # @return [#call] with this before it where a library is loaded whose pools have gates
        def around(app)
          defined?(::ActiveRecord::ConnectionAdapters::ConnectionPool) || defined?(::Sequel::ConnectionPool) ? new(app) : app
        end

        # The current fiber asks for a connection.
        # @param gate [Pool::Gate, nil] of the pool
        # @return [void]
        def asks(gate)
          Thread.current[KEY]&.asks(gate)
        end
      end

      def initialize(app)
        @app = app
        @request_classes = RequestClasses.new
      end

      # As Rack has it; parks before the application where the file says so.
      # @return [Array] the application's answer
      def call(env)
        scheduler = Compat.scheduler or return @app.call(env)
        request_class = Executor.request_class_of(env["REQUEST_METHOD"], env["PATH_INFO"])
        pass(request_class)
        visit(Visit.new(@request_classes, request_class, scheduler), env)
      end

      private

      # Whose time is over here has not begun.
      def pass(request_class)
        @request_classes.gate(request_class)&.pass(request_class)
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
