# frozen_string_literal: true

# Reads one HTTP/1 response off a Wire::Client and holds it to the grammar (RFC 9112 sections 4-7;
# RFC 9110 sections 5, 8.6, 15).

module Wire
  # A response as it came. Header names keep their case; look-ups ignore it.
  class Response
    attr_reader :version, :status, :reason, :fields, :interim
    # How the body was delimited: :none, :length, :chunked or :close.
    attr_accessor :framing
    # The bytes of the body, decoded.
    attr_accessor :body
    # The sizes of the chunks, in order.
    attr_reader :chunks

    def initialize(version:, status:, reason:, fields:, interim:)
      @version = version
      @status = status
      @reason = reason
      @fields = fields
      @interim = interim
      @body = String.new(encoding: Encoding::BINARY)
      @chunks = []
      @framing = nil
      @cut = nil
    end

    # The values of a field, in order.
    def all(name)
      @fields.filter_map { |key, value| value if key.casecmp?(name) }
    end

    # The one value of a field, nil without one, joined when there are several.
    def [](name)
      values = all(name)
      values.empty? ? nil : values.join(", ")
    end

    # Whether it says that the connection ends after it (RFC 9112 section 9.3), as the sender of a
    # request of this version reads it.
    def announces_close?(request_version = "1.1")
      options = (self["connection"] || "").downcase.split(/[ \t]*,[ \t]*/)
      return true if options.include?("close") || framing == :close
      return !options.include?("keep-alive") if request_version == "1.0" || version == "1.0"

      false
    end

    def cut!(how)
      @cut = how
      self
    end

    # Whether the connection ended before the response did; #cut_by says how (:eof or :reset).
    def cut?
      !@cut.nil?
    end

    def cut_by
      @cut
    end

    def inspect
      "#<Wire::Response #{status} #{fields.inspect} #{framing} " \
        "#{body.bytesize} bytes#{" cut" if cut?}>"
    end
  end

  # The parser. One instance reads one final response and the interim ones before it.
  class ResponseReader
    STATUS_LINE = %r{\AHTTP/(1\.[01]) ([1-5][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)\z}n
    FIELD_LINE = /
      \A([!\#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*
      ((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*\z
    /nx
    CHUNK_LINE = /\A([0-9A-Fa-f]{1,16})\z/n
    FIELDS_MAX = 1000
    INTERIM_MAX = 16
    # Fields a response may carry only once.
    SINGLETONS = %w[
      content-length transfer-encoding connection content-type date etag last-modified location
    ].freeze

    def initialize(client, method:, version:)
      @client = client
      @method = method
      @version = version
    end

    def read
      response = head
      read_body(response)
      response
    end

    def read_tolerating_cut
      response = head
      begin
        read_body(response)
      rescue Cut
        response.cut!(@client.ending_kind)
      end
      response
    end

    private

    def head
      interim = []
      loop do
        response = one_head(interim)
        return response unless response.status < 200

        if @version == "1.0"
          raise Malformed, "1xx sent to an HTTP/1.0 client (RFC 9110 section 15.2)"
        end
        raise Malformed, "more than #{INTERIM_MAX} interim responses" if interim.size >= INTERIM_MAX

        check_no_body_fields(response)
        interim << response
      end
    end

    def one_head(interim)
      line = @client.take_line
      match = STATUS_LINE.match(line) or
        raise Malformed, "status line (RFC 9112 section 4): #{line.inspect}"
      response = Response.new(version: match[1], status: match[2].to_i, reason: match[3],
                              fields: fields, interim: interim)
      check_singletons(response)
      response
    end

    def fields
      list = []
      until (line = @client.take_line).empty?
        match = FIELD_LINE.match(line) or
          raise Malformed, "field line (RFC 9112 section 5): #{line.inspect}"
        list << [match[1], match[2]]
        raise Malformed, "more than #{FIELDS_MAX} fields" if list.size > FIELDS_MAX
      end
      list
    end

    def check_singletons(response)
      SINGLETONS.each do |name|
        times = response.all(name).size
        raise Malformed, "#{name} sent #{times} times" if times > 1
      end
    end

    # RFC 9110 section 8.6, RFC 9112 section 6.1: none in 1xx and 204.
    def check_no_body_fields(response)
      %w[content-length transfer-encoding].each do |name|
        raise Malformed, "#{name} in a #{response.status}" if response[name]
      end
    end

    # RFC 9112 section 6.3, in its order.
    def read_body(response)
      length = response["content-length"]
      coding = response["transfer-encoding"]
      raise Malformed, "Content-Length: #{length.inspect}" if length && !length.match?(/\A[0-9]+\z/)
      raise Malformed, "both Content-Length and Transfer-Encoding" if length && coding

      check_no_body_fields(response) if response.status == 204
      return response.framing = :none if @method == "HEAD" || [204, 304].include?(response.status)
      return read_chunked(response, coding) if coding
      return read_length(response, length.to_i) if length

      response.framing = :close
      body, how = @client.take_to_end
      response.body = body
      response.cut!(how) if how == :reset
    end

    def read_length(response, length)
      response.framing = :length
      while response.body.bytesize < length
        piece = @client.take_some(length - response.body.bytesize)
        unless piece
          raise Cut, "Content-Length #{length}, connection ended after #{response.body.bytesize}"
        end

        response.body << piece
      end
    end

    def read_chunked(response, coding)
      raise Malformed, "Transfer-Encoding: #{coding.inspect}" unless coding.casecmp?("chunked")
      if @version == "1.0"
        raise Malformed, "chunked sent to an HTTP/1.0 client (RFC 9112 section 6.1)"
      end

      response.framing = :chunked
      while (size = chunk_size).positive?
        response.chunks << size
        chunk_data(response, size)
      end
      trailers = fields
      raise Malformed, "trailers nobody asked for: #{trailers.inspect}" unless trailers.empty?
    end

    def chunk_size
      line = @client.take_line
      match = CHUNK_LINE.match(line) or
        raise Malformed, "chunk size (RFC 9112 section 7.1): #{line.inspect}"
      match[1].to_i(16)
    end

    def chunk_data(response, size)
      left = size
      while left.positive?
        piece = @client.take_some(left) or raise Cut, "connection ended inside a chunk"
        response.body << piece
        left -= piece.bytesize
      end
      tail = @client.take(2)
      raise Malformed, "chunk data followed by #{tail.inspect}" unless tail == "\r\n"
    end
  end
end
