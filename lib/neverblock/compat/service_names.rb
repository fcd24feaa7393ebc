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
    end
  end
end

# The methods are wrapped by aliases, not by prepended modules: a library that does the same with
# them (resolv-replace, socksify) would find itself under such a module, without end. They are made
# by `def`: a Ractor cannot call one that is made of a block.

class Addrinfo
  class << self
    alias neverblock_getaddrinfo getaddrinfo
    alias neverblock_tcp tcp
    alias neverblock_udp udp
    private :neverblock_getaddrinfo, :neverblock_tcp, :neverblock_udp

    def getaddrinfo(host, service, *rest, **options)
      NeverBlock::Compat::ServiceNames.lookup(host, service, rest[3]) do
        neverblock_getaddrinfo(host, service, *rest, **options)
      end
    end

    def tcp(host, service)
      NeverBlock::Compat::ServiceNames.lookup(host, service) { neverblock_tcp(host, service) }
    end

    def udp(host, service)
      NeverBlock::Compat::ServiceNames.lookup(host, service) { neverblock_udp(host, service) }
    end
  end
end

class Socket
  class << self
    alias neverblock_getaddrinfo getaddrinfo
    alias neverblock_sockaddr_in sockaddr_in
    private :neverblock_getaddrinfo, :neverblock_sockaddr_in

    def getaddrinfo(host, service, *rest)
      NeverBlock::Compat::ServiceNames.lookup(host, service, rest[3]) do
        neverblock_getaddrinfo(host, service, *rest)
      end
    end

    def sockaddr_in(service, host)
      NeverBlock::Compat::ServiceNames.lookup(host, service) do
        neverblock_sockaddr_in(service, host)
      end
    end
    alias pack_sockaddr_in sockaddr_in
  end
end

class TCPSocket
  alias neverblock_initialize initialize

  def initialize(host, service, *local, **options)
    names = NeverBlock::Compat::ServiceNames
    local[1] = names.port(local[1], :STREAM) if local.size > 1
    neverblock_initialize(host, names.port(service, :STREAM), *local, **options)
  end
end

class TCPServer
  alias neverblock_server_initialize initialize

  def initialize(*address, service)
    port = NeverBlock::Compat::ServiceNames.port(service, :STREAM)
    neverblock_server_initialize(*address, port)
  end
end

class UDPSocket
  alias neverblock_connect connect
  alias neverblock_bind bind
  alias neverblock_send send
  private :neverblock_connect, :neverblock_bind, :neverblock_send

  def connect(host, service)
    neverblock_connect(host, NeverBlock::Compat::ServiceNames.port(service, :DGRAM))
  end

  def bind(host, service)
    neverblock_bind(host, NeverBlock::Compat::ServiceNames.port(service, :DGRAM))
  end

  def send(message, flags, *address)
    if address.size == 2
      address[1] = NeverBlock::Compat::ServiceNames.port(address[1], :DGRAM)
    end
    neverblock_send(message, flags, *address)
  end
end
