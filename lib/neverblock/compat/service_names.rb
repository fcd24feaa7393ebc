# frozen_string_literal: true

# A scheduler that has the hook address_resolve is asked for the addresses of a host only. Ruby then
# reads the service as a number, and answers "Name or service not known" for "http"; a canonical
# name (AI_CANONNAME) is lost (raddrinfo.c, rb_scheduler_getaddrinfo). Here, in a fiber, such
# lookups are made on another thread (NB.offload), and a socket is given the service's port.

require "socket"

module NeverBlock
  module Compat
    module ServiceNames
      PORTS = (0..65_535)

      # @return [Boolean] whether the fiber may park, and Ruby would not take the service for a port
      def self.name?(service)
        case service
        when nil then false
        when Integer then !PORTS.cover?(service) && scheduled?
        when String then !(service.match?(/\A\d*\z/) && PORTS.cover?(service.to_i)) && scheduled?
        else false
        end
      end

      def self.scheduled?
        !Compat.scheduler.nil?
      end

      # Without a host no name server is asked.
      # @return [Integer, Object] the port of a service that has a name, or what was given
      # @raise [SocketError] as getaddrinfo(3) does for a service that it does not know
      def self.port(service, type)
        name?(service) ? Addrinfo.getaddrinfo(nil, service, nil, type).first.ip_port : service
      end

      # Calls the block elsewhere where Ruby cannot answer by the hook.
      def self.lookup(host, service, flags = nil, &block)
        apart = !host.nil? && (name?(service) || (canonical?(flags) && scheduled?))
        apart ? NeverBlock.offload(&block) : block.call
      end

      def self.canonical?(flags)
        flags.is_a?(Integer) && flags.anybits?(Socket::AI_CANONNAME)
      end

      # Prepended to Addrinfo's singleton class.
      module OfAddrinfo
        def getaddrinfo(host, service, *arguments, **options)
          ServiceNames.lookup(host, service, arguments[3]) { super }
        end

        def tcp(host, service)
          ServiceNames.lookup(host, service) { super }
        end

        def udp(host, service)
          ServiceNames.lookup(host, service) { super }
        end
      end

      # Prepended to Socket's singleton class.
      module OfSocket
        def getaddrinfo(host, service, *arguments)
          ServiceNames.lookup(host, service, arguments[3]) { super }
        end

        def sockaddr_in(service, host)
          ServiceNames.lookup(host, service) { super }
        end

        def pack_sockaddr_in(service, host)
          ServiceNames.lookup(host, service) { super }
        end
      end

      # Prepended to TCPSocket.
      module OfTCPSocket
        def initialize(host, service, local_host = nil, local_service = nil, **options)
          super(host, ServiceNames.port(service, :STREAM), local_host,
                ServiceNames.port(local_service, :STREAM), **options)
        end
      end

      # Prepended to TCPServer.
      module OfTCPServer
        def initialize(*address, service)
          super(*address, ServiceNames.port(service, :STREAM))
        end
      end

      # Prepended to UDPSocket.
      module OfUDPSocket
        def connect(host, service)
          super(host, ServiceNames.port(service, :DGRAM))
        end

        def bind(host, service)
          super(host, ServiceNames.port(service, :DGRAM))
        end

        def send(message, flags, *address)
          address[1] = ServiceNames.port(address[1], :DGRAM) if address.size == 2
          super(message, flags, *address)
        end
      end
    end

    Addrinfo.singleton_class.prepend(ServiceNames::OfAddrinfo)
    Socket.singleton_class.prepend(ServiceNames::OfSocket)
    TCPSocket.prepend(ServiceNames::OfTCPSocket)
    TCPServer.prepend(ServiceNames::OfTCPServer)
    UDPSocket.prepend(ServiceNames::OfUDPSocket)
  end
end
