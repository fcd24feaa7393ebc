# frozen_string_literal: true

# What a pooled fiber may keep for its next request, as a thread of a thread pool would: clients
# with an open connection. Libraries store them by `Thread.current[:client] ||= connect`. Without
# this, every request would connect again, and the connections would stay open until they are
# collected. Everything else that is stored there is state of the request that has ended.

require "objspace"
require "socket"

module NeverBlock
  module Pool
    module ConnectedClients
      # Most objects that are visited. A client reaches its socket by fewer.
      OBJECTS_MAX = 400
      # Objects that are not visited: they refer to nothing, or to anything.
      PASSED = [
        NilClass, TrueClass, FalseClass, Module, Thread, Fiber, Proc, Method, UnboundMethod,
        Binding, String, Symbol, Numeric, Regexp, ObjectSpace::InternalObjectWrapper
      ].freeze
      # Methods of drivers in C, whose sockets Ruby does not see, that tell whether the connection
      # is closed.
      # How drivers in C, whose sockets Ruby does not see, tell that their connection has ended.
      ENDED = %i[closed? finished?].freeze
      private_constant :OBJECTS_MAX, :PASSED, :ENDED

      class << self
        # @param value [Object] a fiber-local or thread variable
        # @return [Boolean] whether it is an open IO, or reaches an open connection
        def client?(value)
          return false if passed?(value)
          return !value.closed? if IO === value

          found = { value => true }.compare_by_identity
          queue = [value]
          until queue.empty?
            one = queue.shift
            return true if connected?(one)

            add(one, found, queue)
          end
          false
        rescue StandardError # raised by an object's own closed?
          false
        end

        private

        def add(one, found, queue)
          ObjectSpace.reachable_objects_from(one)&.each do |reached|
            return if found.size >= OBJECTS_MAX # rubocop:disable Lint/NonLocalExitFromIterator
            next if passed?(reached) || found.key?(reached)

            found[reached] = true
            queue << reached
          end
        end

        def passed?(object)
          PASSED.any? { |kind| kind === object }
        end

        def connected?(object)
          return BasicSocket === object && !object.closed? if IO === object

          name = ENDED.find { |question| object.respond_to?(question) }
          !name.nil? && driver?(object, name) && !object.public_send(name)
        end

        # A driver's method is in C. StringIO, Dir and Queue are in C too and hold no connection.
        def driver?(object, name)
          return false if object.is_a?(Enumerable) || object.is_a?(Thread::Queue) ||
                          object.is_a?(Thread::SizedQueue)

          object.method(name).source_location.nil?
        end
      end
    end
  end
end
