# frozen_string_literal: true

require_relative "../support/server_process_case"

# Hundreds of event streams on one thread. Each hears every event. One whose client leaves ends,
# whatever it waits for.
class EventStreamsTest < ServerProcessCase
  STREAMS = 300

  APP = <<~'RACKUP'
    require "set"
    require "#{ENV.fetch("NB_TEST_SUPPORT")}/app_events"
    require "#{ENV.fetch("NB_TEST_SUPPORT")}/app_processes"
    SUBSCRIBERS = Set.new
    AppProcesses.hear { |word| SUBSCRIBERS.to_a.each { |inbox| inbox << word } }
    # What is listened to, until the client leaves.
    module Listening
      def listen(out)
        AppProcesses.attend
        SUBSCRIBERS << (inbox = Queue.new)
        AppEvents.put("begun", self.class.name)
        out << "data: hello\n\n"
        loop { out << "data: #{inbox.pop}\n\n" }
      ensure
        SUBSCRIBERS.delete(inbox)
        AppEvents.put("ended", self.class.name)
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
      when "/each"
        [200, { "content-type" => "text/event-stream; charset=utf-8" }, Iterated.new]
      else AppProcesses.say(env["QUERY_STRING"]) && [200, {}, []]
      end
    end)
  RACKUP

  def self.app = APP

  def self.server_options
    {
      options: ["-f", (STREAMS + 50).to_s],
      env: { "NB_TEST_SUPPORT" => File.expand_path("../support", __dir__) }
    }
  end

  { "call" => "Called", "each" => "Iterated" }.each do |kind, body|
    define_method("test_streams_by_#{kind}") { broadcast(kind, body) }
  end

  private

  def broadcast(kind, body)
    streams = Array.new(STREAMS) do |n|
      connect.tap { |stream| stream.get("/#{kind}", *("Connection: close" if n % 3 == 0)) }
    end
    streams.each { |stream| stream.await_bytes("data: hello\n\n") }
    assert_equal STREAMS, open_streams(body)
    ask("/publish?first-#{kind}")
    streams.each { |stream| stream.await_bytes("data: first-#{kind}\n\n") }
    streams.shift(STREAMS / 2).each_with_index { |stream, n| n.even? ? stream.close : stream.abort }
    await_open(body, STREAMS - (STREAMS / 2))
    ask("/publish?second-#{kind}")
    streams.each { |stream| stream.await_bytes("data: second-#{kind}\n\n") }
    streams.each(&:close)
    await_open(body, 0)
    refute_match(/error/, server.stderr)
  end

  def open_streams(body) = events.all("begun", body).size - events.all("ended", body).size

  # Nothing is written meanwhile: what a stream waits for ends by itself.
  def await_open(body, count)
    Timeout.timeout(Patience::SECONDS) { sleep(0.01) until open_streams(body) == count }
  end
end
