# frozen_string_literal: true

# env["rack.input"] of a request whose body comes while it runs (a route with `input: :stream`): an input stream of Rack 3, read forwards and once. A read parks
# the fiber until there is something; what is not read holds the client back. The parts come from binding/input.c.

module NeverBlock
  class StreamInput
    # Most bytes set aside at once for a read: what it will need is not known before it comes.
    CAPACITY_MAX = 65_536
    private_constant :CAPACITY_MAX

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
      taken = length ? take(length) : take_all
      taken = nil if taken.empty? && length&.positive?
      buffer ? fill(buffer, taken) : taken
    end

    # What is there, as soon as there is anything.
    # @param length [Integer] most bytes
    # @param buffer [String, nil] filled in place of a new string
    # @return [String] binary
    # @raise [EOFError] at the end; and as #read
    def readpartial(length, buffer = nil)
      check(length)
      taken = length.zero? ? "".b : take_piece(length)
      taken = fill(buffer, taken) if buffer
      taken or raise EOFError, "end of file reached"
    end

    # The next line with its newline; the last may have none. Raises as #read.
    # @return [String, nil] binary; nil at the end
    def gets
      line = nil
      while current
        stop = @part.index("\n", @at)
        piece = take_piece(stop ? stop + 1 - @at : @part.bytesize - @at)
        line = line ? move(piece, line) : piece
        return line if stop
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
      current.nil?
    end
    alias eof eof?

    # No more is wanted: reading raises IOError from here on.
    # @return [nil]
    def close
      @closed = true
      @part = nil
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

    # As IO does, also at the end.
    def fill(buffer, taken)
      buffer.clear.force_encoding(Encoding::BINARY)
      taken && move(taken, buffer)
    end

    # The part that is being read, from @at on; nil at the end.
    def current
      raise IOError, "closed stream" if @closed
      return @part if @part && @at < @part.bytesize

      @at = 0
      @part = next_part
    end

    # At most `length` bytes of one part; nil at the end.
    def take_piece(length)
      part = current or return
      at = @at
      @at += length
      return part if at.zero? && length >= part.bytesize

      part.byteslice(at, length)
    end

    def take(length)
      return "".b if length.zero?

      taken = take_piece(length) or return "".b
      return taken if taken.bytesize == length

      taken = String.new(capacity: [length, CAPACITY_MAX].min, encoding: Encoding::BINARY) << taken
      while taken.bytesize < length && (piece = take_piece(length - taken.bytesize))
        move(piece, taken)
      end
      taken
    end

    def take_all
      taken = "".b
      while current
        move(take_piece(@part.bytesize), taken)
      end
      taken
    end

    # What was copied is given back at once: waiting for the garbage collector, an upload would hold tens of megabytes.
    def move(from, to)
      to << from
      from.clear
      to
    end
  end
end
