# frozen_string_literal: true

# What rows are furnished with: pipes, sockets, files, other threads and processes. They are made before the loop runs, by a thread without a scheduler.

module HookTable
  module Props
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

    # @return [Array(TCPSocket, TCPSocket)] connected over the loopback interface
    def tcp_pair
      listener = TCPServer.new("127.0.0.1", 0)
      client = TCPSocket.new("127.0.0.1", listener.local_address.ip_port)
      [client, listener.accept]
    ensure
      listener&.close
    end

    # Writes until the other side would have to read.
    # @return [Integer] bytes written
    def fill(io)
      chunk = "x" * 65_536
      total = 0
      [chunk.bytesize, 1].each do |size|
        while (written = io.write_nonblock(chunk[0, size], exception: false)) != :wait_writable
          total += written
        end
      end
      total
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

    # Runs the block on another thread, from now on; its errors fail the row that asks for its value.
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

    # A process that reads this pipe and ends when it gets a byte or its end.
    # @return [Array(Array<String>, IO)] the command, which reads its standard input; the end to write to
    def waiting_command(script = "read line; exit 7")
      ["/bin/sh", "-c", script]
    end
  end
end
