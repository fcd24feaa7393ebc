# frozen_string_literal: true

require "neverblock/verbs/deadline"
require "socket"
require "uri"

module NeverBlock
  module Bench
    # Clients of this process that ask once and keep their connection: idle ones, ones that wait for an answer, readers of a stream.
    class HeldClients
      # A server that takes nobody more lets the kernel's queue fill; then no further client is tried.
      CONNECT_SECONDS_MAX = 2
      # For the answer that the next client waits for.
      ANSWER_SECONDS_MAX = 10
      READ_BYTES = 16_384
      # Closed with a reset, so that no port stays taken for a minute.
      RESET = [1, 0].pack("ii").freeze

      # Holds clients while the block runs.
      # @param url [String] of the server
      # @yield [HeldClients]
      # @return [Object] what the block gave
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

      # Opens one connection after the other and sends a request on each, until the server takes no more.
      # @param clients [Integer] wanted
      # @param path [String]
      # @param expects [String, nil] what an answer ends with; nil: the next client does not wait for this one's
      # @return [Integer] clients there are now
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

      # @param expects [String] what an answer of status 200 ends with
      # @param within [Numeric] seconds
      # @return [Integer] clients that have theirs by then
      def answered(expects, within:)
        limit = Deadline.now + within
        @sockets.count { |socket| answered?(socket, expects, limit) }
      end

      # @return [Integer] clients that the server has not closed
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
