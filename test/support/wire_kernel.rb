# frozen_string_literal: true

# Asks the kernel how many bytes a process at the other end of a loopback connection has not read
# yet (sock_diag(7)). So pieces of a request can be sent one after the other and each be read alone,
# without sleeping and hoping.

require "socket"

module Wire
  module Kernel
    AF_NETLINK = 16
    NETLINK_SOCK_DIAG = 4
    SOCK_DIAG_BY_FAMILY = 20
    NLM_F_REQUEST = 1
    NLMSG_ERROR = 2
    ALL_STATES = 0xffffffff
    NO_COOKIE = 0xffffffff
    # Offset of idiag_rqueue: struct nlmsghdr (16), four bytes, struct inet_diag_sockid (48),
    # idiag_expires (4).
    RQUEUE_OFFSET = 72
    SIOCOUTQ = 0x5411
    NAP_S = 0.0002

    module_function

    # @return [Boolean] whether the peer has read everything, or is gone, within the time
    def wait_until_peer_has_read(socket, seconds)
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      until unread_by_peer(socket).zero?
        return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

        sleep NAP_S
      end
      true
    end

    # @return [Integer] bytes in the receive queue of the other end; 0 when that end is gone
    def unread_by_peer(socket)
      return unread_on_unix_socket(socket) if socket.local_address.unix?

      netlink = Thread.current[:wire_netlink] ||= Socket.new(AF_NETLINK, Socket::SOCK_DGRAM,
                                                             NETLINK_SOCK_DIAG)
      netlink.send(request(socket.remote_address, socket.local_address), 0)
      answer = netlink.recv(8192)
      return 0 if answer.unpack1("@4S") == NLMSG_ERROR

      answer.unpack1("@#{RQUEUE_OFFSET}L")
    rescue Errno::ENOTCONN, Errno::EINVAL
      0
    end

    # On a UNIX socket the bytes stay on the sender's account until they are read.
    def unread_on_unix_socket(socket)
      count = [0].pack("i")
      socket.ioctl(SIOCOUTQ, count)
      count.unpack1("i")
    end

    def request(server, client)
      head = [server.afamily, Socket::IPPROTO_TCP, 0, 0, ALL_STATES, server.ip_port, client.ip_port]
      body = head.pack("CCCCLnn") +
             raw_address(server) + raw_address(client) + [0, NO_COOKIE, NO_COOKIE].pack("LLL")
      [16 + body.bytesize, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0].pack("LSSLL") + body
    end

    def raw_address(address)
      IPAddr.new(address.ip_address).hton.ljust(16, "\0")
    end
  end
end

require "ipaddr"
