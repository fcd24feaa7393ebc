# frozen_string_literal: true

require "neverblock/verbs/deadline"
require "socket"
require "uri"

module NeverBlock
  module Bench
    # Clients in this process that send one request and keep their connection: idle ones, ones that
    # wait for a response, readers of a stream.
    class HeldClients
      # Seconds for a connection. If a server accepts no more, the kernel's queue fills; then no
      # further client is tried.
      CONNECT_SECONDS_MAX = 2
      # Seconds for the response before the next client starts.
      ANSWER_SECONDS_MAX = 10
      READ_BYTES = 16_384
      # SO_LINGER for a reset at close, so that no port stays in TIME_WAIT.
      RESET = [1, 0].pack("ii").freeze

      # Runs the block and then closes the clients.
      # @param url [String] of the server
      # @yield [HeldClients]
      # @return [Object] the block's value
      def self.hold(url)
        held = new(url)
        yield held
      ensure
        held&.close
      end

      def initialize(url)
        @uri = URI(url)
        @sockets = []
        @answers = {}
        Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
      end

      # Opens one connection after the other with a request on each, until the server accepts no
      # more.
      # @param clients [Integer] wanted
      # @param path [String]
      # @param expects [String, nil] end of a response to wait for before the next client; nil: no
      #   wait
      # @return [Integer] number of clients now
      def ask(clients, path, expects: nil)
        request = "GET #{path} HTTP/1.1\r\nHost: #{@uri.host}:#{@uri.port}\r\n\r\n"
        clients.times do
          break unless (socket = connect)

          @sockets << socket
          socket.write(request)
          break if expects && !answered?(socket, expects, Deadline.now + ANSWER_SECONDS_MAX)
        end
        @sockets.size
      rescue SystemCallError
        @sockets.size
      end

      # @param expects [String] end of a response of status 200
      # @param within [Numeric] seconds
      # @return [Integer] number of clients that have it by then
      def answered(expects, within:)
        limit = Deadline.now + within
        @sockets.count { |socket| answered?(socket, expects, limit) }
      end

      # @return [Integer] number of clients whose connection is open
      def open
        @sockets.count { |socket| !ended?(socket) }
      end

      def close
        @sockets.each do |socket|
          socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, RESET)
          socket.close
        rescue SystemCallError
          socket.close
        end
        @sockets.clear
        @answers.clear
      end

      private

      def connect
        Socket.tcp(@uri.host, @uri.port, connect_timeout: CONNECT_SECONDS_MAX)
      rescue SystemCallError
        nil
      end

      def answered?(socket, expects, limit)
        answer = (@answers[socket] ||= +"")
        until answer.end_with?(expects)
          return false unless socket.wait_readable([limit - Deadline.now, 0].max)

          answer << socket.read_nonblock(READ_BYTES)
        end
        answer.start_with?("HTTP/1.1 200")
      rescue SystemCallError, IOError
        false
      end

      def ended?(socket)
        bytes = socket.recv_nonblock(1, Socket::MSG_PEEK, exception: false)
        bytes.nil? || bytes == ""
      rescue SystemCallError, IOError
        true
      end
    end
  end
end
