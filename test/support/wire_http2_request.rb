# frozen_string_literal: true

# Reads the text of HTTP/1.1 requests as a test writes it, in pieces, for a client of HTTP/2: heads,
# and bodies without their framing. What HTTP/2 cannot say raises Untranslatable: such a test is
# about HTTP/1.1, and declares it (Over).

module Wire
  class HTTP2Request
    HEAD_END = "\r\n\r\n"
    REQUEST_LINE = %r{\A([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+) HTTP/1\.1\z}n
    FIELD_LINE = /\A([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*?)[ \t]*\z/n
    ABSOLUTE = %r{\Ahttps?://([^/?]+)(.*)\z}n
    # Fields of a connection (RFC 9113 section 8.2.2). Host becomes :authority.
    NOT_SENT = %w[connection keep-alive proxy-connection transfer-encoding host].freeze
    # More of a head in one piece is no head.
    HEAD_BYTES_MAX = 1_000_000

    # A head. `last` says that no request follows it, `ended` that it has no body.
    Head = Struct.new(:verb, :fields, :ended, :last, keyword_init: true)

    # @param sink [#full?, #head, #room, #data, #trailers] #full?: no head may come now; #head takes
    #   a Head; #room: bytes of a body that may come now; #data(bytes, ended); #trailers(fields)
    # @param scheme [String] of the connection
    def initialize(sink, scheme)
      @sink = sink
      @scheme = scheme
      @text = String.new(encoding: Encoding::BINARY)
      @state = :in_head
      @left = 0
    end

    # @return [Integer] how many of the bytes were taken, from the front; none where the sink has no
    #   place
    def take(bytes)
      rest = bytes.b
      until rest.empty?
        before = rest.bytesize
        rest = send(@state, rest)
        break if rest.bytesize == before
      end
      bytes.bytesize - rest.bytesize
    end

    # Whether the sink's #room is what it waits for.
    def in_body?
      %i[in_length in_chunk].include?(@state)
    end

    private

    # Each state takes bytes off the front and returns the others.

    def in_head(bytes)
      return bytes if @sink.full?

      text, rest = up_to(HEAD_END, bytes) { @text.sub!(/\A(?:\r\n)+/n, "") }
      begin_request(text.split("\r\n")) if text
      rest
    end

    def in_length(bytes)
      body(bytes) { @state = :in_head }
    end

    def in_chunk_line(bytes)
      line, rest = up_to("\r\n", bytes)
      return rest unless line

      size = line[/\A\h+/] or raise Untranslatable, "chunk #{line.inspect}"
      @left = size.hex
      @state = @left.zero? ? :in_trailers : :in_chunk
      rest
    end

    def in_chunk(bytes)
      body(bytes, last: false) { @state = :in_chunk_end }
    end

    def in_chunk_end(bytes)
      line, rest = up_to("\r\n", bytes)
      return rest unless line
      raise Untranslatable, "#{line.inspect} behind a chunk" unless line.empty?

      @state = :in_chunk_line
      rest
    end

    def in_trailers(bytes)
      line, rest = up_to("\r\n", bytes)
      return rest unless line

      if line.empty?
        @trailers.empty? ? @sink.data("", true) : @sink.trailers(@trailers)
        @state = :in_head
      else
        @trailers << field(line)
      end
      rest
    end

    def body(bytes, last: true)
      part = bytes.byteslice(0, [@left, @sink.room].min)
      return bytes if part.empty?

      rest = bytes.byteslice(part.bytesize..)
      @left -= part.bytesize
      @sink.data(part, last && @left.zero?) # which may change it
      yield if @left.zero?
      rest
    end

    # Gathers text up to a mark, over several calls.
    # @return [Array(String, String)] the text without the mark, nil so far; and what follows it
    def up_to(mark, bytes)
      had = @text.bytesize
      @text << bytes
      yield if block_given?
      at = @text.index(mark)
      unless at
        raise Untranslatable, "no #{mark.inspect} in #{had} bytes" if had > HEAD_BYTES_MAX

        return [nil, ""]
      end
      text = @text.byteslice(0, at)
      rest = @text.byteslice((at + mark.bytesize)..)
      @text.clear
      [text, rest]
    end

    def begin_request(lines)
      match = REQUEST_LINE.match(lines.shift.to_s) or
        raise Untranslatable, "the request line of #{lines.inspect}"
      fields = lines.map { |line| field(line) }
      framing = framing(fields)
      list = pseudo(match[1], match[2], fields) + sent(fields)
      @sink.head(Head.new(verb: match[1], fields: list, ended: framing == :none,
                          last: options(fields).include?("close")))
      @trailers = []
      @state = { none: :in_head, length: :in_length, chunked: :in_chunk_line }.fetch(framing)
    end

    def field(line)
      match = FIELD_LINE.match(line) or raise Untranslatable, "the field #{line.inspect}"
      [match[1].downcase, match[2]]
    end

    def values(fields, name)
      fields.filter_map { |key, value| value if key == name }
    end

    def options(fields)
      values(fields, "connection").join(",").downcase.split(/[ \t]*,[ \t]*/)
    end

    def framing(fields)
      lengths = values(fields, "content-length")
      codings = values(fields, "transfer-encoding")
      return :chunked if lengths.empty? && codings.map(&:downcase) == ["chunked"]
      return :none if codings.empty? && (lengths.empty? || lengths == ["0"])

      unless codings.empty? && lengths.size == 1 && lengths.first.match?(/\A\d+\z/)
        raise Untranslatable, "a body framed by #{codings} and #{lengths}"
      end

      @left = lengths.first.to_i
      :length
    end

    def pseudo(verb, target, fields)
      hosts = values(fields, "host")
      raise Untranslatable, "Host #{hosts.size} times" unless hosts.size == 1
      return [[":method", verb], [":authority", target]] if verb == "CONNECT"

      authority, path = ABSOLUTE.match(target)&.captures || [hosts.first, target]
      path = "/#{path}" if path.empty? || path.start_with?("?")
      [[":method", verb], [":scheme", @scheme], [":authority", authority], [":path", path]]
    end

    def sent(fields)
      raise Untranslatable, "Upgrade" if fields.any? { |name, _| name == "upgrade" }

      named = NOT_SENT + options(fields)
      fields.reject do |name, value|
        named.include?(name) || (name == "te" && !value.casecmp?("trailers"))
      end
    end
  end
end
