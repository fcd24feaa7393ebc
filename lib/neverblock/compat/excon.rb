# frozen_string_literal: true

# Excon keeps the sockets of a persistent connection by thread (connection.rb, `sockets`, thread_safe_sockets), so that the fibers of a thread that share one
# would write to one socket at a time each other's, and read each other's answers. Here each request takes a set of sockets for its time, and leaves it
# to the next when it has ended well. Every version up to 1.10.

module NeverBlock
  module Compat
    module Excon
      # Puts it in place once, when Excon is loaded.
      def self.apply
        return unless defined?(::Excon::Connection) && ::Excon::Connection.private_method_defined?(:sockets)

        ::Excon::Connection.prepend(Leases) unless ::Excon::Connection.include?(Leases)
      end

      # The sockets of one connection object: those in use by fiber, and those that are free.
      class Sockets
        def initialize
          @pid = Process.pid
          @used = {}.compare_by_identity
          @free = []
        end

        # A child must not speak on what it shares with its parent.
        def of_this_process?
          @pid == Process.pid
        end

        # @return [Hash, nil] those of the current fiber's request
        def current
          @used[Fiber.current]
        end

        # Calls the block with sockets of its own.
        def lend
          sockets = @used[Fiber.current] = @free.pop || {}
          value = yield
          ended = true
          value
        ensure
          @used.delete(Fiber.current)
          keep_or_close(sockets, ended)
        end

        # Closes those that are free.
        def reset
          while (sockets = @free.pop)
            close(sockets)
          end
        end

        private

        def keep_or_close(sockets, ended)
          return close(sockets) unless ended

          @free.push(sockets) unless sockets.empty?
        end

        def close(sockets)
          sockets.each_value(&:close)
        rescue IOError, SystemCallError
          nil # it is gone
        end
      end

      # Prepended to Excon::Connection. Outside of our loop, and with `thread_safe_sockets: false`, everything is as it was.
      module Leases
        def request(params = {}, &block)
          leased(params[:pipeline]) { super }
        end

        def requests(pipeline_params)
          leased(false) { super }
        end

        def reset
          neverblock_sockets.reset if Compat.scheduler && !neverblock_sockets.current
          super
        end

        private

        # A part of a pipeline is read by who has written it: #requests has the sockets until then.
        def leased(part)
          return yield if part || !Compat.scheduler || !@data[:thread_safe_sockets] || neverblock_sockets.current

          # Says that a request has ended badly, of whichever fiber; what is taken here has not.
          @persistent_socket_reusable = true
          neverblock_sockets.lend { yield }
        end

        def sockets
          (Compat.scheduler && neverblock_sockets.current) || super
        end

        def neverblock_sockets
          @neverblock_sockets = Sockets.new unless @neverblock_sockets&.of_this_process?
          @neverblock_sockets
        end
      end
    end
  end
end
