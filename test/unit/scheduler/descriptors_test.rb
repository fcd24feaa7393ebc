# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "English"
require "fcntl"
require "fiddle"
require "io/wait"
require "minitest/mock"
require "net/http"
require "socket"
require "tempfile"
require "tmpdir"

# Tests waits for descriptors: pipes, files, TCP, UNIX and UDP sockets, Net::HTTP by name, and
# descriptors that are shared, closed, given out again.
class SchedulerDescriptorsTest < Minitest::Test
  include SchedulerHarness

  FIBERS = 20

  def test_reads_from_pipes_wait_all_at_once
    gate = Gate.new(FIBERS)
    pipes = Array.new(FIBERS) { IO.pipe }
    got = []
    in_scheduler do
      pipes.each { |r, _| fiber { gate.enter and got << r.read(3) } }
      when_full(gate) { pipes.each_with_index { |(_, w), i| w.write(format("%03d", i)) } }
    end
    assert_equal Array.new(FIBERS) { |i| format("%03d", i) }, got.sort
  end

  def test_a_read_takes_what_comes_in_parts_until_it_has_its_length
    r, w = IO.pipe
    in_scheduler do
      fiber { assert_equal "abcdef", r.read(6) }
      fiber { "abcdef".each_char { |c| w.write(c) and sleep(0) } }
    end
  end

  def test_a_read_ends_at_the_end_of_the_file
    r, w = IO.pipe
    in_scheduler do
      fiber { assert_equal "abc", r.read }
      fiber { w.write("abc") and w.close }
    end
  end

  def test_a_write_larger_than_the_pipe_waits_for_the_reader
    r, w = IO.pipe
    text = "x" * 1_000_000
    in_scheduler do
      fiber { w.write(text) and w.close }
      fiber { assert_equal text.size, r.read.size }
    end
  end

  # The descriptors of the pipe block, as standard input does: read(2) before it is readable would
  # stop every fiber.
  def test_a_blocking_descriptor_does_not_block_the_loop
    require "io/nonblock"
    r, w = IO.pipe
    r.nonblock = w.nonblock = false
    in_scheduler do
      fiber { assert_equal "later", r.readpartial(10) }
      fiber { w.write("later") }
    end
  end

  def test_a_regular_file_is_ready_at_once
    Tempfile.create("nb") do |file|
      file.write("text")
      file.flush
      in_scheduler do
        fiber do
          assert_equal "text", File.read(file.path)
          File.open(file.path) do |f|
            assert_equal IO::READABLE, Fiber.scheduler.io_wait(f, IO::READABLE, 5)
          end
          assert_equal 3, File.write(file.path, "abc")
        end
      end
    end
  end

  def test_io_wait_returns_the_events_that_came_and_false_at_its_timeout
    here, there = UNIXSocket.pair
    both = IO::READABLE | IO::WRITABLE
    in_scheduler do
      scheduler = Fiber.scheduler
      fiber do
        assert_equal false, scheduler.io_wait(here, IO::READABLE, 0.001)
        assert_equal false, scheduler.io_wait(here, IO::READABLE, 0)
        assert_equal IO::WRITABLE, scheduler.io_wait(here, both, 1)
        there.write("x")
        assert_equal IO::READABLE, scheduler.io_wait(here, IO::READABLE, nil)
        assert_equal IO::READABLE, scheduler.io_wait(here, IO::READABLE, 0)
        there.close
        assert_equal both, scheduler.io_wait(here, both, nil)
      end
    end
  end

  def test_data_that_came_while_the_loop_was_busy_beats_a_deadline_that_passed_meanwhile
    here, there = UNIXSocket.pair
    in_scheduler do
      fiber { assert_equal IO::READABLE, Fiber.scheduler.io_wait(here, IO::READABLE, 0.001) }
      fiber do
        there.write("x")
        late = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.003
        nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < late
      end
    end
  end

  def test_many_fibers_wait_for_different_events_of_one_descriptor
    here, there = UNIXSocket.pair
    events = []
    in_scheduler do
      scheduler = Fiber.scheduler
      2.times { fiber { events << scheduler.io_wait(here, IO::READABLE, nil) } }
      2.times { fiber { events << scheduler.io_wait(here, IO::WRITABLE, nil) } }
      fiber { events << scheduler.io_wait(here, IO::READABLE, 0.001) }
      fiber do
        sleep(0.001) until events.size == 3
        there.write("x")
      end
    end
    assert_equal [false, IO::READABLE, IO::READABLE, IO::WRITABLE, IO::WRITABLE],
                 events.sort_by(&:to_s).rotate(-1)
  end

  def test_tcp_accept_connect_read_and_write_wait_all_at_once
    server = TCPServer.new("127.0.0.1", 0)
    gate = Gate.new(FIBERS)
    answers = []
    in_scheduler do
      fiber { FIBERS.times { serve(server.accept, gate) } }
      FIBERS.times { |i| fiber { answers << ask(server, i) } }
    end
    assert_equal (0...FIBERS).map { |i| "#{i}\n" }.sort, answers.sort
  end

  def test_unix_sockets_wait
    Dir.mktmpdir do |dir|
      server = UNIXServer.new(File.join(dir, "socket"))
      in_scheduler do
        fiber { server.accept.then { |s| s.write(s.gets.upcase) and s.close } }
        fiber do
          UNIXSocket.open(server.path) { |s| s.write("abc\n") and assert_equal("ABC\n", s.gets) }
        end
      end
    end
  end

  def test_udp_sockets_wait
    gate = Gate.new(FIBERS)
    sockets = Array.new(FIBERS) { UDPSocket.new.tap { |s| s.bind("127.0.0.1", 0) } }
    got = []
    in_scheduler do
      sockets.each { |s| fiber { gate.enter and got << s.recvfrom(10).first } }
      when_full(gate) do
        sockets.each do |s|
          UDPSocket.open { |u| u.send("hi", 0, "127.0.0.1", s.local_address.ip_port) }
        end
      end
    end
    assert_equal ["hi"] * FIBERS, got
  end

  def test_a_fiber_goes_on_after_connect_and_one_that_can_always_write_lets_others_run
    service = TCPServer.new("127.0.0.1", 0)
    seen = []
    in_scheduler do
      fiber { TCPSocket.new("127.0.0.1", service.local_address.ip_port) and seen << :connected }
      seen << :scheduled
      other = false
      writer = UNIXSocket.pair.first
      fiber { writer.wait_writable until other }
      fiber { other = true }
    end
    assert_equal %i[connected scheduled], seen
  end

  def test_connecting_to_a_port_nobody_listens_on_is_refused
    port = TCPServer.open("127.0.0.1", 0) { |s| s.local_address.ip_port }
    in_scheduler do
      fiber { assert_raises(Errno::ECONNREFUSED) { TCPSocket.new("127.0.0.1", port) } }
    end
  end

  # The service answers nobody until everybody has asked.
  def test_net_http_by_name_against_a_service_in_the_same_loop
    server = TCPServer.new("localhost", 0)
    gate = Gate.new(FIBERS)
    bodies = []
    in_scheduler do
      fiber { FIBERS.times { server.accept.then { |socket| fiber { answer_http(socket, gate) } } } }
      FIBERS.times do
        fiber { bodies << Net::HTTP.get(URI("http://localhost:#{server.local_address.ip_port}/")) }
      end
    end
    assert_equal ["hello"] * FIBERS, bodies
  end

  def test_a_descriptor_closed_while_waited_for_raises_in_the_fiber_that_waits
    here, there = UNIXSocket.pair
    in_scheduler do
      2.times { fiber { assert_raises(IOError) { here.wait_readable } } }
      fiber { here.close }
    end
    there.close
  end

  def test_a_descriptor_closed_by_another_thread_raises_in_the_fiber_that_waits
    here, _there = UNIXSocket.pair
    waiting = Queue.new
    closer = Thread.new { waiting.pop and here.close }
    in_scheduler { fiber { waiting << true and assert_raises(IOError) { here.wait_readable } } }
    closer.join(SECONDS)
  end

  # A driver's IO, whose number may be another's when it is closed.
  def test_an_io_that_does_not_own_its_descriptor_ends_its_own_waits_alone_when_it_is_closed
    in_scheduler do
      r, w = IO.pipe
      lent = IO.for_fd(r.fileno, autoclose: false)
      waits = fiber { assert_raises(IOError) { lent.wait_readable } }
      fiber { assert_equal "late", r.readpartial(9) }
      fiber do
        lent.close
        sleep(0) while waits.alive?
        w.write("late")
      end
    end
  end

  # The close happens behind Ruby's back, as in a C extension. Nobody is told, but the next wait
  # notices when the number is given out again.
  def test_a_descriptor_closed_behind_rubys_back_and_given_out_again_does_not_mix_its_waiters
    order = []
    in_scheduler do
      r, = pipe = IO.pipe
      fiber do
        r.wait_readable
      rescue IOError
        order << :old
      end
      fiber do
        fresh, fresh_writer = given_out_again(r.fileno)
        fiber { fresh.wait_readable and order << :fresh }
        fresh_writer.write("x")
        pipe.each { |io| io.autoclose = false }
      end
    end
    assert_equal %i[fresh old], order.sort
  end

  def test_a_wait_that_timed_out_leaves_no_event_for_the_next
    r, w = IO.pipe
    in_scheduler do
      fiber do
        refute r.wait_readable(0.001)
        w.write("x")
        assert_equal false, Fiber.scheduler.block(:test, 0.01)
        assert r.wait_readable(0.001)
      end
    end
  end

  def test_a_closed_io_is_refused
    r, _w = IO.pipe
    r.close
    in_scheduler do
      fiber do
        assert_raises(IOError) { Fiber.scheduler.io_wait(r, IO::READABLE, nil) }
        assert_raises(TypeError) { Fiber.scheduler.io_wait(nil, IO::READABLE, nil) }
      end
    end
  end

  def test_io_select_waits_for_many_and_returns_those_that_are_ready
    pipes = Array.new(FIBERS) { IO.pipe }
    in_scheduler do
      fiber do
        assert_equal [[pipes[7][0]], [], []], IO.select(pipes.map(&:first), nil, nil, SECONDS)
      end
      fiber { pipes[7][1].write("x") }
      fiber { assert_equal [[], [pipes[3][1]], []], IO.select([pipes[3][0]], [pipes[3][1]]) }
      fiber { assert_nil Kernel.select([pipes[4][0]], nil, nil, 0.001) }
      fiber { assert_nil select([pipes[4][0]], nil, nil, 0) }
    end
  end

  # It has a descriptor to read and another to write, and its process reads when it is told to.
  def test_io_select_waits_for_the_writing_end_of_a_duplex_pipe
    gate, go = IO.pipe
    duplex = IO.popen(["sh", "-c", "read x <&3; cat > /dev/null; :", { 3 => gate }], "r+")
    nil until duplex.write_nonblock("a" * 65_536, exception: false) == :wait_writable
    seen = nil
    in_scheduler do
      fiber { seen = IO.select([duplex], [duplex]) }
      fiber { sleep(0) && go.puts }
    end
    assert_equal [[], [duplex], []], seen
    duplex.close
  end

  def test_io_select_refuses_a_time_that_ruby_refuses
    in_scheduler do
      fiber { assert_raises(ArgumentError) { IO.select(nil, nil, nil, -1) } }
      fiber { assert_raises(TypeError) { IO.select(nil, nil, nil, "x") } }
    end
  end

  # Without a limit it would wait for ever.
  def test_a_wait_for_urgent_data_ends_with_nothing_at_a_hangup_as_on_a_thread
    hangup = lambda do
      one, other = UNIXSocket.pair
      ended = [-> { one.wait_priority }, -> { other.close }].map { |call| Thread.new(&call) }
      ended.first.value
    end
    seen = :nothing
    in_scheduler do
      one, other = UNIXSocket.pair
      fiber { seen = one.wait_priority }
      fiber { other.close }
    end
    assert_equal hangup.call, seen
  end

  def test_io_select_sleeps_past_a_hangup_while_it_waits_for_urgent_data
    found = :nothing
    in_scheduler do
      one, other = UNIXSocket.pair
      other.close
      switches = Fiber.scheduler.method(:switches)
      before = switches.call
      fiber { found = [IO.select(nil, nil, [one], 0.05), switches.call - before < 10] }
    end
    assert_equal [nil, true], found
  end

  def test_io_select_knows_what_ruby_has_read_ahead
    r, w = IO.pipe
    w.write("one\ntwo\n")
    in_scheduler do
      fiber { r.gets and assert_equal([[r], [], []], IO.select([r], nil, nil, SECONDS)) }
    end
  end

  def test_io_select_ends_with_an_io_error_when_one_is_closed
    r, _w = IO.pipe
    other, _w2 = IO.pipe
    in_scheduler do
      fiber { assert_raises(IOError) { IO.select([r, other]) } }
      fiber { r.close }
    end
  end

  def test_children_are_waited_for_together
    gate = Gate.new(5)
    r, w = IO.pipe
    statuses = []
    in_scheduler do
      5.times do |i|
        pid = spawn("read line; exit #{i}", in: r)
        fiber { gate.enter and statuses << Process.wait2(pid).last.exitstatus }
      end
      when_full(gate) { w.write("go\n" * 5) }
    end
    assert_equal [0, 1, 2, 3, 4], statuses.sort
  end

  def test_backticks_system_and_any_child_wait
    in_scheduler do
      fiber { assert_equal "hi\n", `echo hi` }
    end
    in_scheduler { fiber { assert system("true") } }
    in_scheduler do
      fiber do
        pid = spawn("exit 3")
        nil until Process.wait(-1) == pid # other tests' children may be there
        assert_equal 3, $CHILD_STATUS.exitstatus
        assert_raises(Errno::ECHILD) { Process.wait(pid) }
      end
    end
  end

  # The kernel answers so for a child that a tracer (strace -f) has not let go of yet. Kernel#system
  # takes any answer for a Process::Status.
  def test_a_child_that_has_ended_and_cannot_be_reaped_yet_is_waited_for
    wait = Process::Status.method(:wait)
    asked = []
    not_yet = lambda do |pid, flags|
      asked << flags
      flags == Process::WNOHANG ? nil : wait.call(pid, flags)
    end
    Process::Status.stub(:wait, not_yet) do
      in_scheduler do
        fiber { assert system("exit 0") }
        fiber { refute system("exit 3") }
      end
    end
    assert_equal 2, asked.count(0)
  end

  private

  def serve(socket, gate)
    fiber do
      line = socket.gets
      gate.enter
      gate.wait_full
      socket.write(line)
      socket.close
    end
  end

  def ask(server, number)
    TCPSocket.open("127.0.0.1", server.local_address.ip_port) do |socket|
      socket.puts(number)
      socket.read
    end
  end

  def answer_http(socket, gate)
    nil until socket.gets == "\r\n"
    gate.enter
    gate.wait_full
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
    socket.close
  end

  # Closes a number behind Ruby's back.
  # @return [Array(IO, IO)] another pipe, whose reader has this number
  def given_out_again(number)
    fresh, writer = IO.pipe
    close_number(number)
    assert_equal number, fresh.fcntl(Fcntl::F_DUPFD, number)
    [IO.for_fd(number), writer]
  end

  def close_number(number)
    close = Fiddle::Function.new(Fiddle.dlopen(nil)["close"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT)
    close.call(number)
  end
end
