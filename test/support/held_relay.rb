# frozen_string_literal: true

# Stands between a client and a server, on threads of this process, and holds bytes where a test
# wants them. So it is known, without a clock, that a call waits, and where in the server's answer,
# or in what is sent.

require "socket"

class HeldRelay
  HOST = "127.0.0.1"
  CHUNK_BYTES = 65_536

  # @param target [Integer, String] the server's port on loopback, or the path of its socket
  def initialize(target)
    @target = target
    @listener = TCPServer.new(HOST, 0)
    @lock = Mutex.new
    @changed = ConditionVariable.new
    @passed = 0
    @threads = [Thread.new { accept }]
    let_go
  end

  def port
    @listener.local_address.ip_port
  end

  # @return [Integer] bytes of the server that have passed
  attr_reader :passed

  # Bytes of one direction wait from now on, after so many have passed.
  # @param from [Symbol] :server or :client
  # @return [Thread::Queue] given an element when the first has come that waits
  def hold(after: 0, from: :server)
    @lock.synchronize do
      @from = from
      @left = after
      @held = Thread::Queue.new
    end
  end

  # Passes what waits, and all that follows.
  def let_go
    @lock.synchronize do
      @from = nil
      @changed.broadcast
    end
  end

  def close
    let_go
    @threads.each(&:kill).each(&:join)
    @sockets&.each(&:close)
    @listener.close
  end

  private

  def accept
    loop do
      client = @listener.accept
      server = @target.is_a?(Integer) ? TCPSocket.new(HOST, @target) : UNIXSocket.new(@target)
      (@sockets ||= []).push(client, server)
      pump(client, server, :client)
      pump(server, client, :server)
    end
  end

  def pump(source, sink, from)
    @threads << Thread.new do
      loop { pass(source.readpartial(CHUNK_BYTES), sink, from) }
    rescue SystemCallError, IOError
      finish(sink)
    end
  end

  def finish(sink)
    sink.shutdown(Socket::SHUT_WR)
  rescue SystemCallError, IOError
    nil # it has ended too
  end

  def pass(bytes, sink, from)
    until bytes.empty?
      count = @lock.synchronize do
        allowed(bytes.bytesize, from).tap { |allowed| @passed += allowed if from == :server }
      end
      sink.write(bytes.byteslice(0, count))
      bytes = bytes.byteslice(count..)
    end
  end

  # @return [Integer] how many of so many bytes may pass now, at least one
  def allowed(count, from)
    while @from == from && @left.zero?
      @held << true
      @changed.wait(@lock)
    end
    return count unless @from == from

    [count, @left].min.tap { |passing| @left -= passing }
  end
end
