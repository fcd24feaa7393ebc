# frozen_string_literal: true

# A message channel between the front, its mold and its workers: one JSON object a line on a UNIX
# stream socket, with file descriptors beside it where a message passes some (SCM_RIGHTS, unix(7)).
# A closed end reads as nil.

require "json"
require "socket"

module NeverBlock
  module Cluster
    class Control
      READ_BYTES = 65_536
      # Bytes of control data to receive, for the descriptors of several messages.
      RIGHTS_BYTES = 1_024
      # Most descriptors of one message. More are sent in several (SCM_MAX_FD of unix(7) is 253).
      RIGHTS_MAX = 240
      # Longest message; a backtrace may be long.
      LINE_BYTES_MAX = 1_048_576

      # @return [UNIXSocket]
      attr_reader :io

      # @return [Array(UNIXSocket, UNIXSocket)] both ends, closed on exec
      def self.pair
        UNIXSocket.pair
      end

      # @param io [UNIXSocket] this object owns it from now on
      def initialize(io)
        @io = io
        @text = +"".b
        @received = []
      end

      # Sends a message. A closed other end is detected by #read.
      # @param message [Hash]
      # @param descriptors [Array<Integer, IO>] duplicated into the other process
      # @return [Boolean] whether it could be sent
      def tell(message, descriptors = [])
        ios = descriptors.map { |fd| fd.is_a?(IO) ? fd : IO.for_fd(fd, autoclose: false) }
        *before, last = ios.each_slice(RIGHTS_MAX).to_a
        before.each { |some| send_line({}, some) }
        send_line(message, last)
        true
      rescue SystemCallError, IOError
        false
      end

      # Reads what has arrived, without waiting.
      # @return [Array<Hash{Symbol => Object}>, nil] nil: the other end is closed
      def read
        data, _from, _flags, *beside =
          @io.recvmsg_nonblock(READ_BYTES, 0, RIGHTS_BYTES, scm_rights: true)
        keep_descriptors(beside)
        return nil if data.nil? || data.empty?

        @text << data
        messages
      rescue IO::WaitReadable, Errno::EINTR
        []
      rescue SystemCallError, IOError
        nil
      end

      # Reads nothing.
      # @return [Boolean] whether the other end is closed and no message is left
      def gone?
        ["", nil].include?(@io.recv_nonblock(1, Socket::MSG_PEEK, exception: false))
      rescue SystemCallError, IOError
        true
      end

      # Takes descriptors that came with messages, in their order.
      # @param count [Integer]
      # @return [Array<IO>] owned by the caller
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

      def keep_descriptors(control_messages)
        rights = control_messages.select { |message| message.cmsg_is?(:SOCKET, :RIGHTS) }
        @received.concat(rights.flat_map(&:unix_rights))
      end

      def send_line(message, descriptors)
        line = "#{JSON.generate(clean(message))}\n".b
        rights = descriptors ? [Socket::AncillaryData.unix_rights(*descriptors)] : []
        sent = @io.sendmsg(line, 0, nil, *rights)
        sent += @io.sendmsg(line.byteslice(sent..)) while sent < line.bytesize
      end

      # JSON is UTF-8; an exception's message may have any bytes.
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
        raise IOError, "not a message" if @text.bytesize > LINE_BYTES_MAX

        lines
      rescue JSON::ParserError
        raise IOError, "not a message"
      end
    end
  end
end
