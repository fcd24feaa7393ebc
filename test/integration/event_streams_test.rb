# frozen_string_literal: true

require_relative "../support/server_process_case"

# Hundreds of event streams on one thread: each hears every event, and one whose client leaves ends, whatever it waits for.
class EventStreamsTest < ServerProcessCase
  STREAMS = 300

  APP = <<~'RACKUP'
    require "set"
    SUBSCRIBERS = Set.new
    # What is listened to, until the client leaves.
    module Listening
      def listen(out)
        SUBSCRIBERS << (inbox = Queue.new)
        out << "data: hello\n\n"
        loop { out << "data: #{inbox.pop}\n\n" }
      ensure
        SUBSCRIBERS.delete(inbox)
      end
    end
    class Called
      include Listening
      def call(stream) = listen(stream)
    end
    class Iterated
      include Listening
      Out = Struct.new(:block) { def <<(text) = block.call(text) }
      def each(&block) = listen(Out.new(block))
    end
    run(lambda do |env|
      case env["PATH_INFO"]
      when "/call" then [200, { "content-type" => "text/event-stream" }, Called.new]
      when "/each" then [200, { "content-type" => "text/event-stream; charset=utf-8" }, Iterated.new]
      when "/publish" then SUBSCRIBERS.each { |inbox| inbox << env["QUERY_STRING"] } && [200, {}, []]
      else [200, {}, [SUBSCRIBERS.size.to_s]]
      end
    end)
  RACKUP

  def self.app = APP

  def self.server_options
    { options: ["-f", (STREAMS + 50).to_s] }
  end

  %w[call each].each do |kind|
    define_method("test_streams_by_#{kind}") { broadcast("/#{kind}") }
  end

  private

  def broadcast(path)
    streams = Array.new(STREAMS) { |n| connect.tap { |stream| stream.get(path, *("Connection: close" if n % 3 == 0)) } }
    streams.each { |stream| stream.await_bytes("data: hello\n\n") }
    assert_equal STREAMS, open_streams
    ask("/publish?first")
    streams.each { |stream| stream.await_bytes("data: first\n\n") }
    streams.shift(STREAMS / 2).each_with_index { |stream, n| n.even? ? stream.close : stream.abort }
    await_open(STREAMS - (STREAMS / 2))
    ask("/publish?second")
    streams.each { |stream| stream.await_bytes("data: second\n\n") }
    streams.each(&:close)
    await_open(0)
    refute_match(/error/, server.stderr)
  end

  def open_streams = ask("/open").body.to_i

  # Nothing is written meanwhile: what a stream waits for ends by itself.
  def await_open(count)
    Timeout.timeout(Patience::SECONDS) { sleep(0.01) until open_streams == count }
  end
end
