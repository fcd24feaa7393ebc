# frozen_string_literal: true

# Where the control socket of a server is: beside its pidfile, under the same name. A socket's path has some hundred bytes at most (unix(7)); where the folder
# makes it longer than that, Linux takes a way to the folder through one of its own descriptors.

require "socket"
require "neverblock/config/bind"

module NeverBlock
  class Server
    class Control
      class Address
        SUFFIX = ".control"
        DESCRIPTORS = "/proc/self/fd"

        # @return [String] the socket's path
        attr_reader :path

        # @param pidfile [String] the server's
        def initialize(pidfile)
          @path = "#{File.expand_path(pidfile)}#{SUFFIX}"
        end

        # @yieldparam [String] the packed address, while it holds
        # @return what the block returns
        # @raise [SystemCallError] ENAMETOOLONG where there is no way to name it
        def packed
          return yield Socket.sockaddr_un(path) if path.bytesize <= Config::Bind::PATH_BYTES_MAX

          Dir.open(File.dirname(path)) do |folder|
            short = File.join(DESCRIPTORS, folder.fileno.to_s, File.basename(path))
            raise Errno::ENAMETOOLONG, path unless File.directory?(DESCRIPTORS) && short.bytesize <= Config::Bind::PATH_BYTES_MAX

            yield Socket.sockaddr_un(short)
          end
        end
      end
    end
  end
end
