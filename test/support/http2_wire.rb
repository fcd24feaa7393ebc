# frozen_string_literal: true

# A client that speaks HTTP/2 (RFC 9113) as raw frames, made by hand, and judges every frame that
# comes back. It sends whatever it is told to, malformed or not. What the server sends must keep the
# rules of http2_wire/ledger.rb, or Wire::Malformed says which was broken.

require_relative "wire"
require_relative "http2_wire/frames"
require_relative "http2_wire/ledger"

module Http2Wire
  # @return [Boolean] whether the server at that address takes the preface for HTTP/2's
  def self.spoken?(url)
    Wire::Client.open(url) do |client|
      client.write(PREFACE + Frames.settings)
      client.take(9).getbyte(3) == SETTINGS
    end
  end

  # A response as far as it has come.
  # fields: names and values in order. trailers: those behind the content. code: of RST_STREAM.
  Response = Struct.new(:interim, :fields, :body, :trailers, :ended, :code, keyword_init: true) do
    def status
      self[":status"]&.to_i
    end

    def [](name)
      (fields || []).select { |field, _| field == name }.map(&:last).first
    end
  end

  class Client
    # @yieldparam client [Client] closed at the end
    def self.open(url, **options)
      client = new(url, **options)
      return client unless block_given?

      begin
        yield client
      ensure
        client.close
      end
    end

    # goaways: the error code and the last stream of each GOAWAY.
    # pings: contents of PING with ACK.
    attr_reader :goaways, :ledger, :pings, :wire

    def initialize(url, **options)
      @wire = Wire::Client.new(url, **options)
      @ledger = Ledger.new
      @responses = Hash.new do |hash, stream|
        hash[stream] = Response.new(interim: [], body: String.new(encoding: Encoding::BINARY))
      end
      @goaways = []
      @pings = []
    end

    def close
      @wire.close
    end

    # @param pieces [Array<String>] bytes that are to arrive apart
    # @return [Boolean] false when the server has ended the connection
    def deliver(pieces)
      @ledger.sent(pieces.join)
      @wire.deliver(pieces)
    end

    def send(bytes)
      deliver([bytes])
    end

    # Acknowledges the server's SETTINGS, once.
    def acknowledge
      return if @acknowledged

      await(SETTINGS) if @ledger.server_settings.empty?
      @acknowledged = true
      send(Frames.settings({}, ACK))
    end

    # Takes one frame, checks it and keeps what it says.
    # @return [Frame]
    def frame
      length, type, flags, stream = Frames.parse_head(@wire.take(9))
      @ledger.check_length(length)
      frame = Frame.new(type, flags, stream, @wire.take(length))
      note(frame, @ledger.received(frame))
      frame
    end

    # Sends the head of a request, on the next stream.
    # @param body [Boolean] whether content follows
    # @return [Integer] the stream
    def request(path, method: "GET", fields: [], body: false)
      stream = next_stream
      head = Frames.request_fields(fields.to_a, method: method, path: path)
      send(Frames.headers(stream, head, END_HEADERS | (body ? 0 : END_STREAM)))
      stream
    end

    # Takes frames until one of the type, of the stream if that is given, and for which the block is
    # true if there is one.
    # @return [Frame]
    def await(type, stream: nil)
      loop do
        taken = frame
        fits = taken.type == type && (stream.nil? || taken.stream == stream)
        return taken if fits && (!block_given? || yield(taken))
      end
    end

    # @return [Response] that of the stream, as far as it has come
    def seen(stream)
      @responses[stream]
    end

    # @return [Response] once it has ended or was reset
    def response(stream)
      frame until seen(stream).ended || seen(stream).code
      seen(stream)
    end

    # Sends a PING and takes frames until it is answered: what was sent before has then been read.
    def settle
      @round = @round.to_i + 1
      payload = [@round].pack("Q>")
      send(Frames.ping(payload))
      frame until @pings.include?(payload)
    end

    # Takes frames until the server ends the connection.
    # @return [Symbol] :eof or :reset
    def ending
      loop { frame }
    rescue Wire::Cut
      raise if @wire.buffered != ""

      @wire.ending_kind
    end

    # The stream that a client would use next.
    def next_stream
      @ledger.highest_opened + (@ledger.highest_opened.odd? ? 2 : 1)
    end

    private

    def note(frame, fields)
      case frame.type
      when HEADERS, CONTINUATION then note_head(frame, fields)
      when DATA then seen(frame.stream).body << frame.payload
      when RST_STREAM then seen(frame.stream).code = frame.payload.unpack1("N")
      when GOAWAY then @goaways << frame.payload.unpack("NN").reverse
      when PING then @pings << frame.payload if frame.flag?(ACK)
      end
      seen(frame.stream).ended = true if @ledger.response_ended?(frame.stream)
    end

    def note_head(frame, fields)
      return unless fields

      response = seen(frame.stream)
      if response.fields
        response.trailers = fields
      elsif fields.assoc(":status").last.start_with?("1")
        response.interim << fields
      else
        response.fields = fields
      end
    end
  end
end
