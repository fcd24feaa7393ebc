# frozen_string_literal: true

# env["rack.input"] of a request whose body comes while it runs (a route with `input: :stream`): an
# input stream of Rack 3, read once and forwards. A read parks the fiber until there is data. Unread
# data holds the client back. The parts come from binding/rack/input.c.

module NeverBlock
  class StreamInput
    # Most bytes of one read of a part, when everything or a line is asked for. No part is larger.
    PIECE_BYTES = 65_536
    private_constant :PIECE_BYTES

    # As IO#read: parks until there are so many bytes, or the body ends.
    # @param length [Integer, nil] bytes; nil: the rest of the body, in memory
    # @param buffer [String, nil] filled in place of a new String
    # @return [String, nil] binary; nil at the end for a positive length
    # @raise [ClientGone] when the client left before its body was complete
    # @raise [InputError] when the body is over the limit, came too slowly or was malformed; the
    #   client got an error response
    # @raise [Error] on another thread than the request's, for a second fiber at a time, or when the
    #   response is over
    # @raise [TypeError, ArgumentError] when length is no Integer of at least 0
    # @raise [IOError] when it is closed
    def read(length = nil, buffer = nil)
      check(length) if length
      empty(buffer) if buffer
      taken = length ? take(length, buffer) : take_all(buffer)
      return taken if taken && !taken.empty?

      length&.positive? ? nil : taken || "".b
    end

    # Parks until there is any data, and returns what there is.
    # @param length [Integer] most bytes
    # @param buffer [String, nil] filled in place of a new String
    # @return [String] binary
    # @raise [EOFError] at the end; otherwise as #read
    def readpartial(length, buffer = nil)
      check(length)
      empty(buffer) if buffer
      return buffer || "".b if length.zero?

      piece(length, buffer) or raise EOFError, "end of file reached"
    end

    # The next line with its newline, which the last line may lack. Parks and raises as #read.
    # @return [String, nil] binary; nil at the end
    def gets
      line = nil
      while (longer = piece(PIECE_BYTES, line, true))
        line = longer
        break if line.end_with?("\n")
      end
      line
    end

    # Yields each line, as #gets.
    # @yieldparam line [String]
    # @return [self, Enumerator]
    def each
      return enum_for(:each) unless block_given?

      while (line = gets)
        yield line
      end
      self
    end

    # Whether the body has ended. Parks until that is known. Raises as #read.
    # @return [Boolean]
    def eof?
      check_open
      over?
    end
    alias eof eof?

    # Ends reading: from now on it raises IOError.
    # @return [nil]
    def close
      @closed = true
      nil
    end

    # @return [Boolean]
    def closed?
      @closed == true
    end

    # @return [self]
    def binmode
      self
    end

    # @return [Encoding]
    def external_encoding
      Encoding::BINARY
    end

    # @return [String] without the data
    def inspect
      "#<#{self.class}#{" closed" if closed?}>"
    end

    private

    def check(length)
      raise TypeError, "#{length.class} given for a length in bytes" unless length.is_a?(Integer)
      raise ArgumentError, "negative length #{length} given" if length.negative?
    end

    def check_open
      raise IOError, "closed stream" if @closed
    end

    # As IO does it, also at the end.
    def empty(buffer)
      buffer.clear.force_encoding(Encoding::BINARY)
    end

    # @param length [Integer] most bytes
    # @param onto [String, nil] to which they are appended
    # @param line [Boolean] whether to stop after a newline
    # @return [String, nil] at most one part; nil at the end
    def piece(length, onto = nil, line = false)
      check_open
      shift([length, PIECE_BYTES].min, onto, line)
    end

    def take(length, taken)
      left = length - (taken ? taken.bytesize : 0)
      while left.positive? && (longer = piece(left, taken))
        taken = longer
        left = length - taken.bytesize
      end
      taken
    end

    def take_all(taken)
      while (longer = piece(PIECE_BYTES, taken))
        taken = longer
      end
      taken
    end
  end
end
