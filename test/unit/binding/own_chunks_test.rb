# frozen_string_literal: true

require_relative "binding_case"

# Tests bodies that the application has put into chunks itself (Transfer-Encoding: chunked), as
# Rack::Chunked of Rack 2.2 does: the client gets their content, whatever the body answers to.
class OwnChunksTest < BindingCase
  CHUNKED = { "content-type" => "text/plain", "transfer-encoding" => "chunked" }.freeze

  # A body's pieces.
  class Body
    def initialize(pieces)
      @pieces = pieces
    end
  end

  class Each < Body
    def each(&block) = @pieces.each(&block)
  end

  class Call < Body
    def call(stream)
      @pieces.each { |piece| stream << piece }
    end
  end

  # Its close ends the response before call returns.
  class Closing < Body
    def call(stream)
      stream.write(*@pieces)
    ensure
      stream.close
    end
  end

  # Goes on whatever a write raises.
  class Heedless < Body
    def each(&block)
      @pieces.each(&block)
    rescue NeverBlock::Error
      nil
    end
  end

  # Says so in the body when a write has raised.
  class Sorry < Body
    def call(stream)
      @pieces.each { |piece| stream << piece }
    rescue NeverBlock::Error
      stream << "sorry"
    end
  end

  KINDS = { array: :itself.to_proc, each: Each.method(:new), call: Call.method(:new),
            closing: Closing.method(:new) }.freeze
  STREAMED = KINDS.except(:array).merge(heedless: Heedless.method(:new),
                                        sorry: Sorry.method(:new)).freeze

  TEXT = "4\r\nabcd\r\n0a;x=\"y\"\r\n0123\r\n6789\r\n0\r\nx-sum: 1\r\n\r\n"
  CONTENT = "abcd0123\r\n6789"
  # What is in no chunks, however it begins.
  PLAIN_TEXTS = ["plain text", "feed", "0", "5", "5\r", "5\rhello", "a;b c\r\n", "12 monkeys\r\n",
                 "#{"0" * 17}\r\n", "a;#{"b" * 5000}\r\n", "\r\n", "", "é"].freeze
  BROKEN = {
    "4\r\nab" => /it ends before the last chunk/,
    "4\r\n" => /it ends before the last chunk/,
    "4\r\nabcd\r\n" => /it ends before the last chunk/,
    "4\r\nabcd\r\n0\r\n" => /it ends before the last chunk/,
    "4\r\nabcdefgh" => /not followed by CRLF/,
    "4\r\nabcd\r\nmore" => /no hexadecimal number/,
    "4\r\nabcd\r\n0\r\n\r\nmore" => /bytes behind the last chunk/
  }.freeze

  # Serves @pieces as the kind of body that the path names.
  def chunks(headers = CHUNKED)
    serve do |env|
      kind = env["PATH_INFO"].delete_prefix("/").to_sym
      next [200, {}, ["fine"]] if kind == :fine

      [200, headers, KINDS.merge(STREAMED).fetch(kind).call(@pieces)]
    end
  end

  def content(kind, pieces, version: "1.1")
    @pieces = pieces
    client do |wire|
      wire.get("/#{kind}", version: version)
      wire.response(version: version).body
    end
  end

  def test_the_content_arrives_wherever_the_text_is_cut
    chunks
    KINDS.each_key do |kind|
      (0..TEXT.bytesize).each do |at|
        assert_equal CONTENT, content(kind, [TEXT[0, at], TEXT[at..]]), [kind, at].inspect
      end
      assert_equal CONTENT, content(kind, TEXT.chars), kind
    end
  end

  def test_in_http_1_0
    chunks
    KINDS.each_key do |kind|
      assert_equal CONTENT, content(kind, TEXT.scan(/.{1,5}/m), version: "1.0"), kind
    end
  end

  def test_the_fields_name_is_read_in_any_case_and_beside_others
    chunks({ "Transfer-Encoding" => "gzip, Chunked" })
    assert_equal CONTENT, content(:each, [TEXT])
  end

  def test_another_coding_is_no_chunks
    chunks({ "transfer-encoding" => "identity" })
    KINDS.each_key { |kind| assert_equal TEXT, content(kind, [TEXT]), kind }
  end

  def test_large_chunks_arrive_whole
    large = Random.new(1).bytes(300_001)
    text = "#{large.bytesize.to_s(16)}\r\n".b + large + "\r\n0\r\n\r\n"
    chunks
    KINDS.each_key do |kind|
      assert_equal large, content(kind, [text.byteslice(0, 100_000), text.byteslice(100_000..)]).b
    end
  end

  def test_a_content_length_is_that_of_the_content
    chunks(CHUNKED.merge("content-length" => CONTENT.bytesize.to_s))
    KINDS.each_key { |kind| assert_equal CONTENT, content(kind, TEXT.chars), kind }
  end

  def test_what_is_in_no_chunks_is_sent_as_it_is
    chunks
    KINDS.each_key do |kind|
      PLAIN_TEXTS.each do |text|
        assert_equal text.b, content(kind, [text]).b, [kind, text].inspect
        assert_equal text.b, content(kind, text.b.chars).b, [kind, text].inspect
      end
    end
    refute_match(/error|chunks/, logged)
  end

  # A clean end would pass half a body for a whole one.
  STREAMED.each_key do |kind|
    define_method("test_a_body_by_#{kind}_that_breaks_its_chunks_is_cut_and_logged_once") do
      chunks
      BROKEN.each_with_index do |(text, reason), i|
        @pieces = text.chars
        client do |wire|
          wire.get("/#{kind}")
          response = wire.response_as_far_as_it_comes
          assert response.cut? || response.status == 500, text
        end
        entries = logged.scan(/failed: .* put into chunks by the application.*/)
        assert_equal [i + 1, 1], [entries.size, entries.grep(reason).last(1).size], text
        assert_match reason, entries.last
      end
      assert_serves
    end
  end

  def test_what_is_held_is_not_lost_to_the_collector
    ["f;a=b\r\n#{"x" * 15}\r\n0\r\n\r\n", "f;a=b c"].each do |text|
      stopping = Each.new(text.chars)
      stopping.define_singleton_method(:each) do |&block|
        @pieces.each { |piece| block.call(piece).then { GC.start } }
      end
      serve { [200, CHUNKED, stopping] }
      assert_includes ["x" * 15, text], ask.body
      @server.stop_now(timeout: SECONDS)
    end
  end
end
