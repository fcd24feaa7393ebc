# frozen_string_literal: true

require "socket"

# Stands before PostgreSQL, and cuts connections.
class CuttingRelay
  CHUNK_BYTES = 65_536

  attr_reader :port

  # @param target [Integer] port of the server
  def initialize(target)
    @target = target
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    @lock = Mutex.new
    @pairs = []
    @accepting = Thread.new { accept }
  end

  # Cuts one connection, in whatever it is.
  # @param random [Random]
  def cut(random)
    pair = @lock.synchronize { @pairs.sample(random: random) }
    pair&.each { |socket| shut(socket) }
  end

  def stop
    @accepting.kill
    @server.close
    @lock.synchronize { @pairs.flatten }.each { |socket| shut(socket) }
  end

  private

  def accept
    loop { Thread.new(@server.accept) { |client| relay(client) } }
  end

  def relay(client)
    Thread.current.report_on_exception = false
    pair = [client, TCPSocket.new("127.0.0.1", @target)]
    pair.each { |socket| socket.setsockopt(:TCP, :NODELAY, true) }
    @lock.synchronize { @pairs << pair }
    [Thread.new { pump(*pair) }, Thread.new { pump(*pair.reverse) }].each(&:join)
  rescue SystemCallError
    nil # the server is not there
  ensure
    @lock.synchronize { @pairs.delete(pair) }
    (pair || [client]).each(&:close)
  end

  def pump(from, to)
    loop { to.write(from.readpartial(CHUNK_BYTES)) }
  rescue SystemCallError, IOError
    [from, to].each { |socket| shut(socket) }
  end

  def shut(socket)
    socket.shutdown
  rescue SystemCallError, IOError
    nil # it is
  end
end
