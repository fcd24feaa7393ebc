# frozen_string_literal: true

# What a pooled fiber may keep for its next request, as a thread of a pool would: a client with an open connection, which libraries keep by
# `Thread.current[:client] ||= connect`. Without that every request would connect anew, and connections would stay open until they are collected.
# Everything else that is kept there is state of the request that has ended.

require "objspace"
require "socket"

module NeverBlock
  module Pool
    module ConnectedClients
      # Objects looked at, at most: a client reaches its socket by fewer.
      OBJECTS_MAX = 400
      # What leads anywhere, or nowhere.
      PASSED = [NilClass, TrueClass, FalseClass, Module, Thread, Fiber, Proc, Method, UnboundMethod, Binding, String, Symbol, Numeric, Regexp, ObjectSpace::InternalObjectWrapper].freeze
      # How drivers in C, whose sockets Ruby does not see, tell that their connection has ended.
      ENDED = %i[closed? finished?].freeze
      private_constant :OBJECTS_MAX, :PASSED, :ENDED

      class << self
        # @param value [Object] a fiber-local or thread variable
        # @return [Boolean]
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
        rescue StandardError # an object's own closed?
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

        # In C, and none of Ruby's own: StringIO, Dir and Queue hold no connection.
        def driver?(object, name)
          !object.is_a?(Enumerable) && !object.is_a?(Thread::Queue) && !object.is_a?(Thread::SizedQueue) && object.method(name).source_location.nil?
        end
      end
    end
  end
end
