# frozen_string_literal: true

# The path of a server's control socket: its pidfile's with a suffix. A socket's path has some
# hundred bytes at most (unix(7)). A longer one is reached on Linux through a descriptor of its
# folder.

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

        # @param pidfile [String] the server's pidfile
        def initialize(pidfile)
          @path = "#{File.expand_path(pidfile)}#{SUFFIX}"
        end

        # @yieldparam address [String] the packed address, valid during the block
        # @return what the block returns
        # @raise [SystemCallError] ENAMETOOLONG when the path is too long here
        def packed
          return yield Socket.sockaddr_un(path) if path.bytesize <= Config::Bind::PATH_BYTES_MAX

          Dir.open(File.dirname(path)) do |folder|
            yield Socket.sockaddr_un(short_path(folder))
          end
        end

        private

        def short_path(folder)
          short = File.join(DESCRIPTORS, folder.fileno.to_s, File.basename(path))
          fits = short.bytesize <= Config::Bind::PATH_BYTES_MAX
          raise Errno::ENAMETOOLONG, path unless fits && File.directory?(DESCRIPTORS)

          short
        end
      end
    end
  end
end
