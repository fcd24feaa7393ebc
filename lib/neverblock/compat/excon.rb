# frozen_string_literal: true

# Excon keeps the sockets of a persistent connection by thread (connection.rb, `sockets`,
# thread_safe_sockets). The fibers of a thread that share a connection would write to one socket at
# a time, and read each other's answers. Here each request takes a set of sockets while it runs, and
# leaves it to the next request when it has ended without an error. Every version up to 1.10.

module NeverBlock
  module Compat
    module Excon
      # Installs it once, when Excon is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Excon::Connection)

        connection = ::Excon::Connection
        return unless connection.private_method_defined?(:sockets)

        connection.prepend(Leases) unless connection.include?(Leases)
      end

      # The sets of sockets of one connection object: those in use, by fiber, and the free ones.
      class Sockets
        def initialize
          @pid = Process.pid
          @used = {}.compare_by_identity
          @free = []
        end

        # @return [Boolean] false in a forked child, which must not use its parent's sockets
        def of_this_process?
          @pid == Process.pid
        end

        # @return [Hash, nil] the set of the current fiber's request
        def current
          @used[Fiber.current]
        end

        # Calls the block with a set of its own, for the current fiber.
        # @return what the block returns
        def lend
          sockets = @used[Fiber.current] = @free.pop || {}
          value = yield
          ended = true
          value
        ensure
          @used.delete(Fiber.current)
          return_or_close(sockets, ended)
        end

        # Closes the free sets.
        def reset
          while (sockets = @free.pop)
            close(sockets)
          end
        end

        private

        def return_or_close(sockets, ended)
          return close(sockets) unless ended

          @free.push(sockets) unless sockets.empty?
        end

        def close(sockets)
          sockets.each_value(&:close)
        rescue IOError, SystemCallError
          nil # it was lost already
        end
      end

      # Prepended to Excon::Connection. Outside our loop, and with `thread_safe_sockets: false`, it
      # changes nothing.
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

        # A part of a pipeline has the sockets of its #requests, which reads the answers.
        def leased(part)
          return yield if part || !Compat.scheduler || !@data[:thread_safe_sockets]
          return yield if neverblock_sockets.current

          # False after a request, of any fiber, has ended with an error. The set taken here has had
          # none.
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
