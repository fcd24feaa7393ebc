# frozen_string_literal: true

require "socket"

module NeverBlock
  module Bench
    # Chooses a loopback port for a server that cannot tell which port it took.
    module Port
      # Below Linux's range for outgoing connections (ip_local_port_range starts at 32768), so that
      # no client takes the port meanwhile.
      RANGE = (20_000..31_999).freeze
      ATTEMPTS = 50

      # @return [Integer] a port that is free now
      # @raise [Error] when none was found
      def self.free
        ATTEMPTS.times do
          port = rand(RANGE)
          TCPServer.new("127.0.0.1", port).close
          return port
        rescue Errno::EADDRINUSE
          next
        end
        raise Error, "there is no free port between #{RANGE.min} and #{RANGE.max} " \
                     "after #{ATTEMPTS} attempts"
      end
    end
  end
end
