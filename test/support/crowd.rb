# frozen_string_literal: true

# Clients of another process and another loopback address, so many that a server runs out of places
# or descriptors for them. As a program it is one such process: it connects, sends what its kind
# sends, and answers each line of its standard input.
#
#   ruby crowd.rb ADDRESS PORT COUNT KIND

require "json"
require "socket"

class Crowd
  # What they send, and what more of it when they are told to go on. None of it ends a request.
  KINDS = {
    "heads" => ["GET / HTTP/1.1\r\nHost: te", "st\r\nX: "],
    "bodies" => [
      "POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 500000\r\n\r\n#{"x" * 40_000}",
      "y" * 60_000
    ],
    "downloads" => ["GET /large.bin HTTP/1.1\r\nHost: test\r\n\r\n", ""]
  }.freeze
  REFUSAL = %r{\AHTTP/1\.1 503 [^\n]*\r\n(?:.*\r\n)?Retry-After: \d+\r\n}mi

  # The parent's end.
  class Process
    # @param kind [String] of KINDS
    def initialize(address, port, count, kind)
      @io = IO.popen([RbConfig.ruby, __FILE__, address, port.to_s, count.to_s, kind], "r+")
    end

    # @return [Hash{String => Integer}] how many of them are there still, have been refused in full
    #   ("refused"), and what else has become of them
    def tally
      ask("tally")
    end

    # Sends more on each.
    def go_on
      ask("go on")
    end

    # All leave at once.
    def close
      @io.close
    end

    private

    def ask(word)
      @io.puts(word)
      JSON.parse(@io.gets || raise("the crowd is gone"))
    end
  end

  def initialize(address, port, count, kind)
    @port = port
    @first, @more = KINDS.fetch(kind)
    @ends = {}
    @sockets = Array.new(count) { connect(address) }
    @due = @sockets.to_h { |socket| [socket, @first.dup] }
  end

  def run
    until (asked = turn(0.05)) == :left
      next unless asked

      @sockets.each { |socket| @due[socket] << @more unless @ends[socket] } if asked == "go on"
      $stdout.puts(JSON.generate(tally))
      $stdout.flush
    end
  end

  private

  def connect(address)
    socket = Socket.new(:INET, :STREAM)
    socket.setsockopt(:SOCKET, :RCVBUF, 4096)
    socket.bind(Addrinfo.tcp(address, 0))
    socket.connect_nonblock(Addrinfo.tcp("127.0.0.1", @port), exception: false)
    socket
  end

  # @return [String, Symbol, nil] what was asked; :left at the end
  def turn(seconds)
    open = @sockets.reject { |socket| @ends[socket] }
    writing = open.reject { |socket| @due[socket].empty? }
    readable, writable, = IO.select([$stdin, *open], writing, nil, seconds)
    writable&.each { |socket| write(socket) }
    readable&.each { |socket| read(socket) unless socket == $stdin }
    return unless readable&.include?($stdin)

    $stdin.gets&.chomp || :left
  end

  def write(socket)
    written = socket.write_nonblock(@due[socket], exception: false)
    @due[socket] = @due[socket].byteslice(written..) if written.is_a?(Integer)
  rescue SystemCallError
    @due[socket] = +"" # what it has to say is read
  end

  # A response is over for us with its first bytes: an answer of 200 is a download that stands still
  # from here on.
  def read(socket)
    text = socket.recv_nonblock(4096, exception: false)
    return if text == :wait_readable

    @ends[socket] = outcome(text.to_s)
    @due[socket].clear
  rescue SystemCallError => e
    @ends[socket] = e.class.name
    @due[socket].clear
  end

  def outcome(text)
    return "refused" if REFUSAL.match?(text)

    text.empty? ? "closed" : text[0, 12]
  end

  def tally
    { "open" => @sockets.size - @ends.size }.merge(@ends.values.tally)
  end
end

if $PROGRAM_NAME == __FILE__
  Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
  Crowd.new(ARGV[0], Integer(ARGV[1], 10), Integer(ARGV[2], 10), ARGV[3]).run
end
