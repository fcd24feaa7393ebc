# frozen_string_literal: true

# env["rack.input"] of a request without a body: always at its end, one object for all requests.

module NeverBlock
  class NoInput
    # @param length [Integer, nil] bytes wanted
    # @param buffer [String, nil] emptied when given
    # @return [String, nil] nil when a positive length was asked for, as IO#read at the end; else an
    #   empty string
    def read(length = nil, buffer = nil)
      raise ArgumentError, "negative length #{length} given" if length&.negative?

      buffer&.clear
      length.to_i.positive? ? nil : buffer || "".b
    end

    # @return [String] empty
    def string = +""

    # @return [nil]
    def gets(*) = nil
    alias getc gets
    alias getbyte gets

    # @raise [EOFError]
    def readpartial(*) = raise(EOFError, "end of file reached")
    alias sysread readpartial
    alias readline readpartial

    # @return [Array] empty
    def readlines(*) = []

    # @return [self, Enumerator]
    def each(*) = block_given? ? self : [].each

    # @return [Integer] 0
    def rewind = 0
    alias pos rewind
    alias tell rewind
    alias size rewind
    alias length rewind

    # @return [Integer] 0: there is only one place
    def seek(*) = 0

    # @return [true]
    def eof? = true
    alias eof eof?

    # @return [nil]
    def close = nil

    # @return [false] it cannot be closed: others use it too
    def closed? = false

    # @return [self]
    def binmode = self

    # @return [true]
    def binmode? = true
    alias sync binmode?

    # @param value [Boolean] kept by nobody
    def sync=(value); end

    # @return [self]
    def flush = self

    # @return [nil]
    def fsync = nil

    # @return [self]
    def set_encoding(*) = self

    # @return [Encoding]
    def external_encoding = Encoding::BINARY
  end
end
