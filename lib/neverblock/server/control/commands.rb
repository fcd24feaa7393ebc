# frozen_string_literal: true

# The commands of the control socket. A server of one process refuses those that need workers, and
# names what to use instead.

require "neverblock/errors"

module NeverBlock
  class Server
    class Control
      class Commands
        NO_RELOAD = "this server is one process and has no workers to replace: " \
                    "neverblock upgrade loads new code in a new process, at the same port; " \
                    "reload needs -w 2 or more"
        NO_WORKERS = "this server is one process and has no workers; start it with -w 2 or more"
        CHANGES = { "+1" => :add_worker, "-1" => :remove_worker }.freeze

        NO_UPGRADE = "nothing here can start this server again"

        # @param server [Server, Cluster::Front] a running server
        # @param upgrade [#call, nil] as Runner#upgrade
        def initialize(server, upgrade: nil)
          @server = server
          @upgrade = upgrade
        end

        # @return [Hash{String => #call}] see Control#initialize
        def to_h
          { "status" => method(:status),
            "reload" => method(:reload),
            "upgrade" => method(:upgrade),
            "workers" => method(:workers) }
        end

        private

        def status(_argument)
          { pid: ::Process.pid, draining: @server.draining?,
            connections: @server.stats[:connections],
            shutdown_s: @server.config.shutdown_timeout, **figures }
        end

        # Waits until the result is known.
        def reload(_argument, &progress)
          raise Error, NO_RELOAD unless @server.respond_to?(:reload)

          done, line = @server.reload { |text| progress.call(text) }
          raise Error, line.to_s unless done

          { message: line }.merge(figures)
        end

        # Waits until the result is known.
        def upgrade(_argument, &progress)
          raise Error, NO_UPGRADE unless @upgrade

          { pid: @upgrade.call { |text| progress.call(text) } }
        end

        def workers(argument)
          raise Error, NO_WORKERS unless @server.respond_to?(:add_worker)

          change = CHANGES[argument] or
            raise Error, "workers takes +1 or -1; got #{argument.inspect}"
          @server.public_send(change)
          figures
        end

        def figures
          return {} unless @server.respond_to?(:workers)

          { workers: @server.workers, generation: @server.generation }
        end
      end
    end
  end
end
