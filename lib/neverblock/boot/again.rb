# frozen_string_literal: true

# How this command starts again: in place of its process, once that has drained and its at_exit
# blocks have run, or as a further process that replaces it (Server::Upgrade). The sockets at which
# it listens are passed on.

require "neverblock/errors"
require "neverblock/server/upgrade"

module NeverBlock
  module Boot
    class Again
      # A command of another program, such as `rails server`, that starts it again.
      class ByCommand
        # @param command [String]
        def initialize(command)
          @command = command
        end

        def keep(_server); end

        def exec
          ::Process.exec(@command)
        end

        def upgrades? = false

        def upgrade(_server)
          raise Error, Server::Upgrade::ELSEWHERE
        end
      end

      CONTAINED = "this is the first process of its container, which would end with it; start a " \
                  "container of the new version in its place"

      # @param origin [Cluster::Origin]
      # @param contained [Boolean] whether a container ends with this process
      def initialize(origin, contained: false)
        @origin = origin
        @contained = contained
      end

      # Keeps the sockets of a server that is to drain. Its clients wait meanwhile.
      # @param server [Server, Cluster::Front]
      # @return [void]
      def keep(server)
        loop = server.io_loop
        @variables = Server::Upgrade.variables(@fds = loop.copy_listeners, loop.keeps_paths?)
        loop.keep_paths
      rescue SystemCallError
        @fds = nil # they are opened anew
      end

      # Replaces this process. Never returns.
      # @raise [SystemCallError]
      def exec
        @fds ? @origin.start_again(@variables, @fds) : @origin.start_again
      end

      # @return [Boolean] whether a new process can take this one's place
      def upgrades? = !@contained

      # @param server [Server, Cluster::Front]
      # @return [Server::Upgrade]
      # @raise [Error]
      def upgrade(server)
        raise Error, "no upgrade: #{CONTAINED}" if @contained

        Server::Upgrade.new(server.io_loop, @origin.method(:spawn_again))
      end
    end
  end
end
