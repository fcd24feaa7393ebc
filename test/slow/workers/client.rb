# frozen_string_literal: true

# Clients on kept connections, a thread each, in a process of its own. One argument (JSON) gives the
# server, the number of clients of each kind, and the number of idle ones.
# It prints "ready" when each has been served once, and goes on until its standard input ends. Then
# it prints the account (account.rb) as JSON.
#
#   ruby client.rb '{"url": "http://127.0.0.1:9292", "seed": 1, "crowd": 1, "idle": 2000,
#                    "kinds": {"small": 12, "spooled": 4}, "download_sum": 123, "pause_s": 0.01}'

require "json"
require "zlib"
require_relative "../../support/wire"
require_relative "account"
require_relative "app"

# One kept connection that asks for one kind of thing again and again.
class WorkersClient
  SPOOLED_BYTES = 200_000
  STREAMED_BYTES = 300_000
  # So that an upload is under way for a while: pieces with a pause between.
  PIECES = 4

  # @param kind [String] small, spooled, streamed, download, chunks, events or idle
  # @param number [Integer] which makes its ids
  def initialize(job, account, kind, number)
    @job = job
    @account = account
    @kind = kind
    @number = number
    @rng = Random.new(job.fetch("seed") + number)
    @count = 0
  end

  # One request and its answer, whatever becomes of it.
  def exchange
    id = "#{@job.fetch("crowd")}-#{@kind}-#{@number}-#{@count += 1}"
    return unless connection(id)

    send_request(id)
    judge(id, @wire.response_as_far_as_it_comes(method: upload? ? "POST" : "GET"))
  rescue Wire::Cut => e
    lose(:lost, id, e.message)
  rescue Wire::Error, SystemCallError => e
    lose(:broken, id, "#{e.class}: #{e.message}")
  end

  # The pause until the next, so that many clients do not need many processors.
  def pause
    sleep(@rng.rand * 2 * @job.fetch("pause_s"))
  end

  # @return [Boolean] whether it has been closed where it should be open
  def finish
    if @wire&.closed_by_server?
      lose(:lost, "#{@kind}-#{@number}-end", "closed between two requests")
    end
    @wire&.close
  end

  private

  def upload?
    %w[spooled streamed].include?(@kind)
  end

  # A connection that was closed since the last answer is lost, too; the next request has a new one.
  def connection(id)
    lose(:lost, id, "closed between two requests") if @wire&.closed_by_server?
    @wire ||= Wire::Client.open(@job.fetch("url")).tap { @account.connected }
  rescue SystemCallError => e
    @account.note(:broken, id, @kind, "not connected: #{e.class}")
    nil
  end

  def send_request(id)
    return @wire.get("/#{@kind}", "X-Id: #{id}") unless upload?

    body = @rng.bytes(@kind == "spooled" ? SPOOLED_BYTES : STREAMED_BYTES)
    @sum = Zlib.crc32(body)
    @wire.write("POST /#{@kind} HTTP/1.1\r\nHost: test\r\nX-Id: #{id}\r\n" \
                "Content-Length: #{body.bytesize}\r\n\r\n")
    size = body.bytesize / PIECES
    PIECES.times do |piece|
      break unless @wire.write(body.byteslice(piece * size, size))

      sleep(@rng.rand * 0.01)
    end
  end

  def judge(id, response)
    @account.answered(response)
    return lose(:failed, id, "cut after #{response.body.bytesize} bytes") if response.cut?

    @account.note(:failed, id, @kind, "502") if response.status == 502
    unless response.status == 502 || right?(id, response)
      @account.note(:wrong, id, @kind, verdict(id, response))
    end
    lose(:announced, id, "#{response.status}, Connection: close") if response.announces_close?
  end

  def right?(id, response)
    return false unless response.status == 200

    case @kind
    when "download" then Zlib.crc32(response.body) == @job.fetch("download_sum")
    when "idle" then response.body == "Hello World"
    when "chunks", "events" then response.body == WorkersApp.stream(id)
    else response.body == (upload? ? @sum.to_s : id)
    end
  end

  def verdict(_id, response)
    "#{response.status}, #{response.body.bytesize} bytes: #{response.body[0, 60].inspect}"
  end

  def lose(fate, id, text)
    @account.note(fate, id, @kind, text)
    @wire&.close
    @wire = nil
  end
end

# The whole crowd.
class WorkersCrowd
  def initialize(job)
    @job = job
    @account = Account.new
    @stopping = false
    kinds = job.fetch("kinds").flat_map { |kind, count| [kind] * count }
    @busy = kinds.each_with_index.map do |kind, number|
      WorkersClient.new(job, @account, kind, number)
    end
    @idle = Array.new(job.fetch("idle", 0)) do |number|
      WorkersClient.new(job, @account, "idle", @busy.size + number)
    end
  end

  # @param input [IO] whose end is the sign to stop
  # @param output [IO]
  def run(input, output)
    served_once
    output.puts("ready")
    output.flush
    threads = @busy.map { |client| Thread.new { ask_on(client) } }
    input.read
    @stopping = true
    threads.each(&:join)
    @idle.each(&:exchange)
    (@busy + @idle).each(&:finish)
    output.puts(JSON.generate(@account.to_h))
  end

  private

  def served_once
    @idle.each(&:exchange)
    @busy.map { |client| Thread.new { client.exchange } }.each(&:join)
  end

  def ask_on(client)
    until @stopping
      client.pause
      client.exchange
    end
  end
end

if $PROGRAM_NAME == __FILE__
  Thread.abort_on_exception = true
  Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
  WorkersCrowd.new(JSON.parse(ARGV.fetch(0))).run($stdin, $stdout)
end
