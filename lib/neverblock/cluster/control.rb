# frozen_string_literal: true

# What the front, its mold and its workers say to each other: one JSON object a line on a UNIX stream socket, with descriptors beside it (SCM_RIGHTS, unix(7))
# where one is to have some. An end that is gone reads as nil.

require "json"
require "socket"

module NeverBlock
  module Cluster
    class Control
      READ_BYTES = 65_536
      # Room for the descriptors of several commands that come together.
      RIGHTS_BYTES = 1_024
      # Of one message: those of a worker with many spares and I/O threads go in several (SCM_MAX_FD of unix(7) is 253).
      RIGHTS_MAX = 240
      # A backtrace may be long; more is nobody's message.
      LINE_BYTES_MAX = 1_048_576

      # @return [UNIXSocket]
      attr_reader :io

      # @return [Array(UNIXSocket, UNIXSocket)] both ends, closed on exec
      def self.pair
        UNIXSocket.pair
      end

      # @param io [UNIXSocket] is this object's from here on
      def initialize(io)
        @io = io
        @text = +"".b
        @received = []
      end

      # An end that is gone is found by read.
      # @param message [Hash]
      # @param descriptors [Array<Integer, IO>] copied to the other side
      # @return [Boolean] whether it could be said
      def tell(message, descriptors = [])
        *before, last = descriptors.map { |fd| fd.is_a?(IO) ? fd : IO.for_fd(fd, autoclose: false) }.each_slice(RIGHTS_MAX).to_a
        before.each { |some| send_line({}, some) }
        send_line(message, last)
        true
      rescue SystemCallError, IOError
        false
      end

      # What has come, without waiting.
      # @return [Array<Hash{Symbol => Object}>, nil] nil: the other end is gone
      def read
        data, _from, _flags, *beside = @io.recvmsg_nonblock(READ_BYTES, 0, RIGHTS_BYTES, scm_rights: true)
        beside.each { |rights| @received.concat(rights.unix_rights) if rights.cmsg_is?(:SOCKET, :RIGHTS) }
        return nil if data.nil? || data.empty?

        @text << data
        messages
      rescue IO::WaitReadable, Errno::EINTR
        []
      rescue SystemCallError, IOError
        nil
      end

      # Without taking anything of what has come.
      # @return [Boolean] whether the other end is gone and has left nothing to read
      def gone?
        ["", nil].include?(@io.recv_nonblock(1, Socket::MSG_PEEK, exception: false))
      rescue SystemCallError, IOError
        true
      end

      # Descriptors that came with the messages, in their order.
      # @param count [Integer]
      # @return [Array<IO>] the caller's
      def take(count)
        @received.shift(count)
      end

      # @return [void]
      def close
        @io.close
        @received.each(&:close)
        @received.clear
      end

      private

      def send_line(message, descriptors)
        line = "#{JSON.generate(clean(message))}\n".b
        rights = descriptors ? [Socket::AncillaryData.unix_rights(*descriptors)] : []
        sent = @io.sendmsg(line, 0, nil, *rights)
        sent += @io.sendmsg(line.byteslice(sent..)) while sent < line.bytesize
      end

      # JSON is UTF-8; an exception's message may be anything.
      def clean(value)
        case value
        when String then value.dup.force_encoding(Encoding::UTF_8).scrub("?")
        when Hash then value.transform_values { |part| clean(part) }
        when Array then value.map { |part| clean(part) }
        else value
        end
      end

      def messages
        lines = []
        while (line = @text.slice!(/\A[^\n]*\n/n))
          lines << JSON.parse(line, symbolize_names: true)
        end
        raise IOError, "no message" if @text.bytesize > LINE_BYTES_MAX

        lines
      rescue JSON::ParserError
        raise IOError, "no message"
      end
    end
  end
end
