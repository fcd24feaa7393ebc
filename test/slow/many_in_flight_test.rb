# frozen_string_literal: true

require_relative "../support/server_process_case"

# Tests thousands of requests and of event streams that wait at once (-f 5000). All begin before the
# first may end. None is refused, and none waits for another's fiber.
class ManyInFlightTest < ServerProcessCase
  CROWD = 5_000
  DESCRIPTORS = CROWD + 256

  # GET /wait ends, and an event stream goes on, when the gate opens. It opens when CROWD requests
  # have come.
  def self.app
    <<~RACKUP
      GATE = Queue.new
      COME = Queue.new
      class Events
        def each
          yield "data: first\\n\\n"
          COME << 1
          GATE.pop
          yield "data: last\\n\\n"
        end
      end
      run(lambda do |env|
        case env["PATH_INFO"]
        when "/wait" then (COME << 1) && GATE.pop
        when "/events" then next [200, { "content-type" => "text/event-stream" }, Events.new]
        end
        [200, { "content-type" => "text/plain" }, ["hello"]]
      end)
      Thread.new do
        loop do
          #{CROWD}.times { COME.pop }
          #{CROWD}.times { GATE << 1 }
        end
      end
    RACKUP
  end

  def self.server_options
    { settings: { fibers: CROWD, connections_max: DESCRIPTORS, idle_timeout_ms: 600_000,
                  header_timeout_ms: 600_000 } }
  end

  def setup
    soft, hard = Process.getrlimit(:NOFILE)
    skip "#{hard} descriptors are allowed, #{DESCRIPTORS} are needed" if hard < DESCRIPTORS
    Process.setrlimit(:NOFILE, hard, hard) if soft < DESCRIPTORS
  end

  def test_five_thousand_requests_are_in_flight_at_once
    answers = crowd("/wait", "\r\n\r\nhello")
    assert_equal({ true => CROWD },
                 answers.map { |answer| answer.start_with?("HTTP/1.1 200 ") }.tally)
  end

  def test_five_thousand_event_streams_wait_at_once
    streams = crowd("/events", "data: last\n\n\r\n0\r\n\r\n")
    whole = %r{\AHTTP/1.1 200 .*data: first\n\n.*data: last\n\n}m
    assert_equal({ true => CROWD }, streams.map { |stream| stream.match?(whole) }.tally)
  end

  private

  # All ask before the first answer is read.
  def crowd(path, ending)
    uri = URI(server.url)
    sockets = []
    CROWD.times do
      sockets << TCPSocket.new(uri.host, uri.port)
      sockets.last.write("GET #{path} HTTP/1.1\r\nHost: test\r\n\r\n")
    end
    sockets.map { |socket| read_to(socket, ending) }
  ensure
    sockets&.each(&:close)
  end

  # A refusal has another ending: it is what has come when no more does.
  def read_to(socket, ending)
    text = +""
    until text.end_with?(ending) || text.start_with?("HTTP/1.1 5")
      return text unless socket.wait_readable(Patience::SECONDS)

      text << socket.readpartial(4096)
    end
    text
  rescue EOFError
    text
  end
end
