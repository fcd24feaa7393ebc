# frozen_string_literal: true

# What rows are furnished with: pipes, sockets, files, other threads and processes. They are made
# before the loop runs, by a thread without a scheduler.

require "io/nonblock"
require "socket"
require_relative "names"
require_relative "slow_disk"

module HookTable
  module Props
    include Names
    include SlowDisk

    # @return [String] a path in the row's own folder
    def path(name = "file")
      File.join(@folder, name)
    end

    # @return [String] the path of a file with that content
    def file(content = "", name: "file")
      path(name).tap { |path| File.binwrite(path, content) }
    end

    # @return [String] the path of a FIFO
    def fifo(name = "fifo")
      path(name).tap { |path| File.mkfifo(path) }
    end

    # @return [Integer] how many descriptors of this process are that file's
    def descriptors_of(path)
      Dir.children("/proc/self/fd").count do |fd|
        File.readlink("/proc/self/fd/#{fd}") == path
      rescue Errno::ENOENT
        false # that of the folder
      end
    end

    # @return [Array(TCPSocket, TCPSocket)] connected over the loopback interface
    def tcp_pair
      listener = TCPServer.new("127.0.0.1", 0)
      client = TCPSocket.new("127.0.0.1", listener.local_address.ip_port)
      [client, listener.accept]
    ensure
      listener&.close
    end

    # A listener that takes no connection before another is accepted. Linux drops the first packet
    # then, which is sent again after a second.
    # @return [Array(Socket, Addrinfo, Array<Socket>)] it, its address and the connections in its
    #   queue
    def full_listener
      listener = Socket.new(:INET, :STREAM)
      listener.bind(Addrinfo.tcp("127.0.0.1", 0))
      listener.listen(0)
      address = listener.local_address
      queued = Array.new(3) do
        Socket.new(:INET, :STREAM).tap do |client|
          client.connect_nonblock(address, exception: false)
        end
      end
      [listener, address, queued]
    end

    # Writes until the other side would have to read.
    # @return [Integer] bytes written
    def fill(io)
      total = fill_once(io)
      total += fill_once(io) while io.wait_writable(SETTLES_S)
      total
    end

    # The kernel moves what was sent over the loopback interface on, and there is room again.
    SETTLES_S = 0.02

    private def fill_once(io)
      chunk = "x" * 65_536
      [chunk.bytesize, 1].sum do |size|
        total = 0
        while (written = io.write_nonblock(chunk[0, size], exception: false)) != :wait_writable
          total += written
        end
        total
      end
    end

    # Takes what is there and at least `bytes`.
    # @return [String]
    def drain(io, bytes = 1)
      text = +""
      while (part = io.read_nonblock(1 << 20, exception: false))
        next text << part unless part == :wait_readable
        break if text.bytesize >= bytes

        io.wait_readable
      end
      text
    end

    # Runs the block on another thread, from now on. Its errors fail the row that asks for its
    # value.
    # @return [Thread]
    def other_thread
      Thread.new do
        Thread.current.report_on_exception = false
        yield
      end
    end

    # A lock that another thread holds, until the gate is pushed to.
    # @return [Thread::Queue] the gate
    def held_elsewhere(lock)
      gate = Thread::Queue.new
      held = Thread::Queue.new
      other_thread do
        lock.synchronize do
          held << true
          gate.pop
        end
      end
      held.pop
      gate
    end

    # Counts the calls of File#flock from now on, each before it may wait. A library that asks for a
    # lock has opened the file before, which may park as well.
    # @return [#call] how many there were
    def count_flocks
      count = 0
      File.prepend(Module.new do
        define_method(:flock) { |operation| (count += 1) && super(operation) }
      end)
      -> { count }
    end

    # Ends that block, as a shell's do; those of IO.pipe do not since Ruby 3.0.
    # @return [Array(IO, IO)]
    def blocking_pipe
      IO.pipe.each { |io| io.nonblock = false }
    end

    # A command that waits for a line, which is its output, and ends with status 3.
    # @return [Array(Array, Hash, IO)] the words and the options of spawn, and the end to write the
    #   line to
    def waiting_command
      reader, writer = blocking_pipe
      [["/bin/sh", "-c", "read line <&9; echo $line; exit 3"], { 9 => reader }, writer]
    end
  end
end
