# frozen_string_literal: true

# hiredis-client waits in C (rb_thread_fd_select and poll in its hiredis_connection.c), which no
# hook reaches. While one fiber waits for Redis, no other of its thread runs. redis/hiredis-rb#77.
# That cannot be mended from here. A warning says so, once, when a connection is made in our loop.
# The Ruby driver of redis-client parks fibers.

module NeverBlock
  module Compat
    module Hiredis
      MESSAGE = "NeverBlock: hiredis-client blocks the event loop at each wait for Redis. " \
                "Take redis-client's own driver instead: leave out hiredis-client, " \
                "or set RedisClient.default_driver = :ruby, " \
                "or say `driver: :ruby` where a client is made."

      class << self
        # Installs it once, when redis-client is loaded.
        # @return [void]
        def apply
          return unless defined?(::RedisClient.driver)

          client = ::RedisClient.singleton_class
          client.prepend(Drivers) unless client.include?(Drivers)
          watch
        end

        # The driver is loaded when it is first named, perhaps later.
        def watch
          return unless defined?(::RedisClient::HiredisConnection)

          connection = ::RedisClient::HiredisConnection
          connection.prepend(Connection) unless connection.include?(Connection)
        end

        def tell
          return if @told

          @told = true
          warn(MESSAGE)
        end
      end

      # Prepended to RedisClient.singleton_class.
      module Drivers
        def driver(name)
          super.tap { Hiredis.watch }
        end
      end

      # Prepended to RedisClient::HiredisConnection.
      module Connection
        def initialize(...)
          Hiredis.tell if Compat.scheduler
          super
        end
      end
    end
  end
end
