# frozen_string_literal: true

# The application of the worker tests: small answers, uploads, downloads and streams. Their bytes
# follow from the request's id, so a client detects a wrong byte. A journal that outlives the
# process gets a mark at the begin and end of every request (journal.rb).

require "zlib"
require_relative "journal"

class WorkersApp
  # Lines of a stream, and the pause between two in seconds. Streams are so long that most are under
  # way when a worker is killed.
  LINES = 20
  PAUSE_S = 0.01

  # A file that the server may send by itself.
  Download = Struct.new(:to_path) do
    def each
      File.open(to_path, "rb") do |file|
        while (part = file.read(65_536))
          yield part
        end
      end
    end
  end

  class << self
    # @return [String] what /chunks and /events of this id answer
    def stream(id)
      Array.new(LINES) { |number| line(id, number) }.join
    end

    def line(id, number)
      "data: #{id} #{number} #{"x" * 200}\n\n"
    end
  end

  # @param version [String] told in each answer
  # @param download [String] path of the file that /download answers with
  # @param marks [Journal::Writer]
  def initialize(version:, download: nil, marks: Journal::Writer.new)
    @version = version
    @download = download
    @marks = marks
  end

  def call(env)
    id = env["HTTP_X_ID"]
    marked(env, id) if id
    status, headers, body = answer(env, id)
    [status, { "x-version" => @version, "x-worker" => Process.pid.to_s }.merge(headers), body]
  end

  private

  # The end is marked when the response has left the application for good.
  def marked(env, id)
    @marks.put("B", id)
    (env["rack.response_finished"] ||= []) << ->(*) { @marks.put("E", id) }
  end

  def answer(env, id)
    case env["PATH_INFO"]
    when "/small" then sleep(rand * 0.01) && text(id)
    when "/spooled", "/streamed" then text(checksum(env["rack.input"]))
    when "/download"
      [200, { "content-type" => "application/octet-stream",
              "content-length" => File.size(@download).to_s }, Download.new(@download)]
    when "/chunks" then [200, { "content-type" => "text/plain" },
                         Enumerator.new { |out| lines(id) { |line| out << line } }]
    when "/events"
      [200, { "content-type" => "text/event-stream" }, ->(stream) { events(stream, id) }]
    else text("Hello World")
    end
  end

  def text(bytes)
    [200, { "content-type" => "text/plain", "content-length" => bytes.bytesize.to_s }, [bytes]]
  end

  def checksum(input)
    sum = 0
    while (part = input.read(65_536))
      sum = Zlib.crc32(part, sum)
    end
    sum.to_s
  end

  def lines(id)
    LINES.times do |number|
      yield self.class.line(id, number)
      sleep(PAUSE_S)
    end
  end

  def events(stream, id)
    lines(id) { |line| stream.write(line) }
  ensure
    stream.close
  end
end
