# frozen_string_literal: true

require_relative "shared"

class SchedulerSoak
  # One fiber's life: random waits until the books say that it is over.
  class Waits
    # How often each is chosen.
    KINDS = {
      nap: 20, give_way: 10, pop: 12, push: 12, sized_pop: 6, sized_push: 6, mutex: 10,
      monitor: 5, condition: 5, monitor_condition: 3, signal: 8, pipe: 8, echo: 14, connect: 2,
      timed_out: 8, in_time: 4, pop_or_time_out: 5, select: 6, readable: 6, closed: 5, closes: 4,
      file: 2, thread: 1, thread_limit: 1, name: 2, cancel: 12, enumerate: 2, child: 4,
      process: 0.15, forked: 0.1, backtick: 0.08
    }.freeze
    # What they are booked as.
    BOOKED = %i[
      backtick cancel child closed closes condition connect echo enumerator file fork give_way
      in_time monitor monitor_condition monitor_signal mutex name pipe pop_or_time_out queue_pop
      readable select sized_pop sized_push sleep spawn tcp thread_join thread_value timeout
    ].freeze
    LARGE = ("0123456789abcdef" * 20_000).freeze

    def initialize(books, shared, random)
      @books = books
      @shared = shared
      @random = random
      @line = nil
    end

    def live
      @shared.fibers << (@fiber = Fiber.current)
      one until @books.over?
      last
    ensure
      @shared.fibers.delete(@fiber)
      leave
    end

    private

    # Who has chosen this fiber before may raise into it still, while it waits in a close (Ruby
    # 3.4).
    def leave
      close_line
    rescue Cancelled => e
      @books.received(e)
    ensure
      @shared.leave
    end

    def one
      send(choose)
    rescue Cancelled => e
      @books.received(e)
    rescue StandardError => e
      @books.fail("#{e.full_message(highlight: false).lines.first(6).join}")
      @books.received(e)
    end

    # What was raised into a wait that ended as woken comes in the next, and this is it.
    def last
      3.times { sleep(0) }
    rescue Cancelled => e
      @books.received(e)
      retry
    end

    def choose
      point = @random.rand * KINDS.values.sum
      KINDS.each { |kind, weight| return kind if (point -= weight).negative? }
    end

    def wait(kind, &block) = @books.wait(kind, &block)
    def expect(what, truth) = @books.expect(what, truth)
    def short = @random.rand * 0.003

    # --- Time ---

    def nap
      duration = short
      began = @books.clock
      wait(:sleep) { sleep(duration) }
      expect("sleep(#{duration}) ended early", @books.clock - began >= duration)
    end

    def give_way = wait(:give_way) { sleep(0) }

    def timed_out
      duration = short
      began = @books.clock
      wait(:timeout) { Timeout.timeout(duration) { wait_for_nothing } }
      @books.fail("Timeout.timeout returned")
    rescue Timeout::Error => e
      @books.received(e)
      expect("a timeout came early", @books.clock - began >= duration)
    end

    def wait_for_nothing
      case @random.rand(4)
      when 0 then sleep
      when 1 then Queue.new.pop
      when 2 then IO.pipe { |reader, _writer| reader.read(1) }
      when 3 then Timeout.timeout(20) { sleep }
      end
    end

    def in_time
      value = wait(:in_time) { Timeout.timeout(30) { sleep(short) && :value } }
      expect("a timeout lost the value", value == :value)
    end

    # --- Queues and locks ---

    def pop = wait(:queue_pop) { @books.popped(@shared.queue.pop) }
    def push = @shared.queue << @books.new_token
    def sized_pop = wait(:sized_pop) { @books.popped(@shared.sized.pop) }

    def sized_push
      token = @books.new_token
      pushed = false
      wait(:sized_push) { @shared.sized.push(token) && pushed = true }
    ensure
      @books.unpushed(token) unless pushed
    end

    def pop_or_time_out
      wait(:pop_or_time_out) { Timeout.timeout(short) { @books.popped(@shared.queue.pop) } }
    rescue Timeout::Error => e
      @books.received(e)
    end

    def mutex
      mutex = @shared.mutexes.sample(random: @random)
      wait(:mutex) { mutex.synchronize { alone(mutex) { sleep(short / 20) } } }
    end

    def monitor
      monitor, = any_monitor
      wait(:monitor) { monitor.synchronize { monitor.synchronize { alone(monitor) { sleep(0) } } } }
    end

    def any_monitor = @shared.monitors.to_a.sample(random: @random)

    def alone(lock)
      expect("two are inside one #{lock.class}", !@shared.inside.key?(lock))
      @shared.inside[lock] = true
      yield
    ensure
      @shared.inside.delete(lock)
    end

    def condition
      wait(:condition) do
        @shared.condition_mutex.synchronize do
          @shared.condition.wait(@shared.condition_mutex, @random.rand(2).zero? ? nil : short)
        ensure
          expect("ConditionVariable#wait left without its mutex", @shared.condition_mutex.owned?)
        end
      end
    end

    def monitor_condition
      monitor, condition = any_monitor
      wait(:monitor_condition) do
        monitor.synchronize do
          condition.wait(short)
        ensure
          expect("a monitor's condition was left without the monitor", monitor.mon_owned?)
        end
      end
    end

    def signal
      @random.rand(2).zero? ? @shared.condition.signal : @shared.condition.broadcast
      monitor, condition = any_monitor
      wait(:monitor_signal) { monitor.synchronize { condition.signal } }
    end

    # --- Descriptors ---

    def pipe
      IO.pipe do |reader, writer|
        writer.sync = true
        @books.fiber { write_to(writer, "abc") }
        expect("a pipe lost bytes", wait(:pipe) { reader.read(3) } == "abc")
      end
    end

    def write_to(writer, bytes)
      sleep(0) if @random.rand(2).zero?
      writer.write(bytes)
    rescue IOError, SystemCallError # its reader was cancelled and has closed it
      nil
    end

    # A socket pair whose other end gives everything back: short and longer than its buffers.
    def echo
      @line ||= open_line
      size = @random.rand(40).zero? ? @random.rand(LARGE.size) : 1 + @random.rand(200)
      bytes = LARGE[0, size]
      @books.fiber { write_to(@line, bytes) } if bytes.size > 200
      @line.write(bytes) if bytes.size <= 200
      seen = wait(:echo) { @line.read(bytes.size) }
      expect("an echo of #{bytes.size} came back as #{seen&.size}", seen == bytes)
    rescue Cancelled
      close_line
      raise
    end

    def open_line
      here, there = UNIXSocket.pair
      [here, there].each { |socket| socket.sync = true }
      @books.fiber { give_back(there) }
      here
    end

    def give_back(socket)
      loop { socket.write(socket.readpartial(65_536)) }
    rescue EOFError, SystemCallError
      nil
    ensure
      socket.close
    end

    # The close of a socket may be interrupted on Ruby 3.4; it is closed then.
    def close_line
      line = @line
      @line = nil
      line&.close
    end

    # Reset at the end, so that the ports are free at once.
    def connect
      socket = wait(:connect) { TCPSocket.new("127.0.0.1", @shared.port) }
      socket.setsockopt(Socket::Option.linger(true, 0))
      socket.write("hello")
      expect("the server's answer", wait(:tcp) { socket.readpartial(5) } == "hello")
    ensure
      socket&.close
    end

    def select
      IO.pipe do |one, writer|
        IO.pipe do |other, _held|
          writer.write_nonblock("x") if (ready = @random.rand(2).zero?)
          found = wait(:select) { IO.select([other, one], nil, nil, short) }
          expect("IO.select returned #{found.inspect}", found == (ready ? [[one], [], []] : nil))
        end
      end
    end

    def readable
      IO.pipe do |reader, writer|
        @books.fiber { write_to(writer, "x") } if (ready = @random.rand(2).zero?)
        found = wait(:readable) { reader.wait_readable(ready ? 30 : short) }
        expect("wait_readable returned #{found.inspect}", ready ? found == reader : found.nil?)
      end
    end

    # What this fiber waits for is closed by another.
    def closed
      reader, writer = IO.pipe
      @books.fiber { sleep(short) && reader.close }
      wait(:closed) { reader.read(1) }
      @books.fail("a read of a closed pipe returned")
    rescue IOError => e
      @books.received(e)
    ensure
      [reader, writer].each(&:close)
    end

    # What others wait for is closed by this fiber.
    def closes
      ended = Queue.new
      IO.pipe do |reader, _writer|
        2.times do
          @books.fiber do
            ended << raises_io_error do
              @random.rand(2).zero? ? reader.read(1) : reader.wait_readable
            end
          end
        end
      end
      2.times { expect("a waiter of a closed pipe", wait(:closes) { ended.pop }) }
    end

    def raises_io_error
      yield
      false
    rescue IOError
      true
    end

    # Opened, looked up and closed by another thread on Ruby 3.4.
    def file
      wait(:file) do
        File.open(__FILE__, "r+") { |file| expect("a file's first character", file.getc == "#") }
        expect("File.size", File.size(__FILE__).positive?)
      end
    end

    # --- Threads, fibers, processes, names ---

    def thread
      expect("Thread#value", wait(:thread_value) { Thread.new { sleep(short) && 5 }.value } == 5)
    end

    def thread_limit
      queue = Queue.new
      thread = Thread.new { queue.pop }
      expect("Thread#join came before its limit", wait(:thread_join) { thread.join(short) }.nil?)
    ensure
      queue << true
      queue.close
    end

    def name
      address = wait(:name) { Addrinfo.getaddrinfo("localhost", 80, nil, :STREAM).first.ip_address }
      expect("localhost is #{address}", %w[127.0.0.1 ::1].include?(address))
    end

    # Some other fiber, of any loop: only one's own may be raised into.
    def cancel
      other = @shared.fibers.sample(random: @random)
      return if other.equal?(@fiber) || other.nil?

      cancel = @books.new_cancel
      @books.told(cancel) if wait(:cancel) { other.raise(cancel) }.nil?
    rescue FiberError # ended, of another thread, or resuming one of its own
      nil
    end

    def enumerate
      numbers = Enumerator.new { |out| 3.times { |number| sleep(short / 20) && out << number } }
      expect("an enumerator", wait(:enumerator) { Array.new(3) { numbers.next } } == [0, 1, 2])
    end

    def child
      done = Queue.new
      @books.fiber { sleep(short) && done << true }
      expect("a child fiber", wait(:child) { done.pop })
    end

    def process = ends_with(0, :spawn) { spawn("true") }

    def forked
      ends_with(5, :fork) do
        fork do
          sleep(0.001)
          exit!(Fiber.scheduler ? 6 : 5)
        end
      end
    end

    def ends_with(status, kind)
      pid = yield
      seen = wait(kind) { Process.wait2(pid) }
      expect("process #{pid} ended with #{seen.inspect}", seen[1].exitstatus == status)
    rescue Cancelled
      Process.detach(pid) if pid && seen.nil?
      raise
    end

    def backtick
      expect("backticks", wait(:backtick) { `echo 5` } == "5\n")
    end
  end
end
