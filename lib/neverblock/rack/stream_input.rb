# frozen_string_literal: true

# env["rack.input"] of a request whose body comes while it runs (a route with `input: :stream`): an input stream of Rack 3, read forwards and once. A read parks
# the fiber until there is something; what is not read holds the client back. The parts come from binding/rack/input.c.

module NeverBlock
  class StreamInput
    # Bytes asked for at once when all, or a line, is wanted; a part is never larger.
    PIECE_BYTES = 65_536
    private_constant :PIECE_BYTES

    # As IO#read: waits for so many bytes, or the body's end.
    # @param length [Integer, nil] bytes; nil: all there are, in memory
    # @param buffer [String, nil] filled in place of a new string
    # @return [String, nil] binary; nil when a positive length was asked for at the end
    # @raise [ClientGone] when the client left before its body was whole
    # @raise [InputError] when the body grew past the limit, came too slowly or broke the rules; its client was told so
    # @raise [Error] on another thread than the request's, by a second fiber at a time, or when the response is over
    # @raise [IOError] when it is closed
    def read(length = nil, buffer = nil)
      check(length) if length
      empty(buffer) if buffer
      taken = length ? take(length, buffer) : take_all(buffer)
      return taken if taken && !taken.empty?

      length&.positive? ? nil : taken || "".b
    end

    # What is there, as soon as there is anything.
    # @param length [Integer] most bytes
    # @param buffer [String, nil] filled in place of a new string
    # @return [String] binary
    # @raise [EOFError] at the end; and as #read
    def readpartial(length, buffer = nil)
      check(length)
      empty(buffer) if buffer
      return buffer || "".b if length.zero?

      piece(length, buffer) or raise EOFError, "end of file reached"
    end

    # The next line with its newline; the last may have none. Raises as #read.
    # @return [String, nil] binary; nil at the end
    def gets
      line = nil
      while (longer = piece(PIECE_BYTES, line, true))
        line = longer
        break if line.end_with?("\n")
      end
      line
    end

    # Each line, as #gets.
    # @yieldparam line [String]
    # @return [self, Enumerator]
    def each
      return enum_for(:each) unless block_given?

      while (line = gets)
        yield line
      end
      self
    end

    # Whether the body is over; parks until that is known. Raises as #read.
    # @return [Boolean]
    def eof?
      check_open
      over?
    end
    alias eof eof?

    # No more is wanted: reading raises IOError from here on.
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

    # @return [String] without what was read
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

    # As IO leaves it, also at the end.
    def empty(buffer)
      buffer.clear.force_encoding(Encoding::BINARY)
    end

    # At most `length` bytes of one part, behind `onto`; nil at the end.
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
