# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "fcntl"
require "fiddle"
require "io/wait"
require "socket"

# A wait that follows an EAGAIN of our own read keeps its registration with the poller, and the next
# one trusts it (binding/state/watches.c). These tests are of what must hold all the same: numbers
# that are closed and given out again, heard of or not, copies of a descriptor, several waiters,
# forks. What is registered is read from the kernel (/proc/PID/fdinfo, proc(5)); the cookie there
# counts the registrations.
class SchedulerKeptRegistrationsTest < Minitest::Test
  include SchedulerHarness

  # EPOLLIN and EPOLLET of sys/epoll.h; EPOLLERR and EPOLLHUP are always there.
  READ = 0x1
  EDGE = 1 << 31
  ROUNDS = 50
  # Ways in which #changed makes a pipe another.
  CHANGES = 6

  def setup
    skip "epoll only" unless File.directory?("/proc/self/fdinfo")
  end

  def test_a_descriptor_that_is_read_again_and_again_is_registered_once
    pair = UNIXSocket.pair
    pipes = [IO.pipe, IO.pipe]
    [pair + pair,
     [pipes[0][0], pipes[1][0], pipes[1][1], pipes[0][1]]].each do |here, there, to_there, to_here|
      to_there, to_here = here, there if here.is_a?(UNIXSocket)
      in_scheduler do
        fiber do
          assert_registered_once(here) do |rounds|
            rounds.times { to_there.write("x") && here.readpartial(9) }
          end
        end
        fiber { (ROUNDS + 3).times { to_here.write(there.readpartial(9)) } }
      end
    end
  end

  def test_a_trusting_wait_is_woken_in_a_loop_that_sleeps
    in_fiber do |thread|
      here, there = kept_pair
      later(thread) { there.write("late") }
      assert_equal "late", here.readpartial(9)
    end
  end

  def test_a_trusting_wait_is_woken_after_the_close_of_an_io_that_does_not_own_its_descriptor
    in_fiber do
      here, there = kept_pair
      fiber { assert_equal "late", here.readpartial(9) }
      IO.for_fd(here.fileno, autoclose: false).close
      there.write("late")
    end
  end

  def test_what_comes_between_the_empty_read_and_the_wait_is_told
    in_fiber do
      here, there = kept_pair
      2.times do
        assert_equal :wait_readable, here.read_nonblock(1, exception: false)
        there.write("x")
        assert_equal here, here.wait_readable(SECONDS)
        assert_equal "x", here.read_nonblock(9)
      end
    end
  end

  def test_what_is_left_of_the_data_ends_the_next_wait
    in_fiber do
      here, there = kept_pair
      there.write("abc")
      assert_equal "a", here.readpartial(1)
      assert_equal here, here.wait_readable(SECONDS)
      assert_equal "bc", here.readpartial(9)
    end
  end

  # IO#reopen is dup2(2): the same IO and number, another file, and nobody is told.
  def test_another_file_under_the_same_io_is_waited_for_by_a_loop_that_sleeps
    in_fiber do |thread|
      r, = kept_pipe
      fresh, fresh_writer = IO.pipe
      r.reopen(fresh)
      later(thread) { fresh_writer.write("late") }
      assert_equal "late", r.readpartial(9)
    end
  end

  def test_another_file_under_the_same_io_is_waited_for_by_a_loop_that_never_sleeps
    in_busy_loop do
      r, = kept_pipe
      fresh, fresh_writer = IO.pipe
      r.reopen(fresh)
      fiber { sleep(0) && fresh_writer.write("late") }
      assert_equal "late", r.readpartial(9)
    end
  end

  def test_news_of_the_file_that_was_there_before_is_not_taken_for_the_present_ones
    in_busy_loop do
      r, w = kept_pipe
      copy = r.dup # its registration lives on
      fresh, fresh_writer = IO.pipe
      r.reopen(fresh)
      reader = fiber { assert_equal "fresh", r.readpartial(9) }
      w.write("old")
      sleep(0.001)
      assert_predicate reader, :alive?
      fresh_writer.write("fresh")
      assert_equal "old", copy.readpartial(9)
      sleep(0) while reader.alive?
    end
  end

  def test_another_file_behind_rubys_back_under_the_same_io_is_waited_for
    [method(:in_fiber), method(:in_busy_loop)].each do |loop|
      loop.call do
        r, = kept_pipe
        fresh, fresh_writer = IO.pipe
        duplicate(fresh.fileno, r.fileno)
        fiber { sleep(0) && fresh_writer.write("late") }
        assert_equal "late", r.readpartial(9)
      end
    end
  end

  def test_a_number_closed_behind_rubys_back_ends_its_trusting_wait
    in_fiber do
      here, = kept_pair
      reader = fiber { assert_raises(IOError, Errno::EBADF) { here.readpartial(9) } }
      close_number(here.fileno)
      here.autoclose = false
      sleep(0.001) while reader.alive?
    end
  end

  # Before the loop has had an occasion to see that the number is another file's, and after.
  def test_a_number_closed_and_given_out_again_behind_rubys_back_does_not_mix_its_waiters
    [-> {}, -> { sleep(0.001) }].each do |occasion|
      in_fiber do
        r, = kept_pipe
        order = []
        fiber { assert_raises(IOError) { r.readpartial(9) } and order << :old }
        r.autoclose = false
        fresh, fresh_writer = given_out_again(r.fileno)
        occasion.call
        fiber { fresh.readpartial(9) and order << :fresh }
        fresh_writer.write("x")
        sleep(0) until order.size == 2
        assert_equal %i[fresh old], order.sort
      end
    end
  end

  def test_a_closed_descriptor_is_registered_no_more_though_a_copy_of_it_is_open
    in_fiber do
      here, = kept_pair
      copy = here.dup
      number = here.fileno
      assert_equal(1, registrations.count { |one| one[:number] == number })
      here.close
      assert_equal(0, registrations.count { |one| one[:number] == number })
      copy.close
    end
  end

  def test_a_closed_descriptor_ends_the_wait_that_trusts_it
    in_fiber do
      here, = kept_pair
      reader = fiber { assert_raises(IOError) { here.readpartial(9) } }
      here.close
      sleep(0) while reader.alive?
    end
  end

  def test_a_descriptor_closed_by_another_thread_ends_the_wait_that_trusts_it
    in_fiber do |thread|
      here, = kept_pair
      later(thread) { here.close }
      assert_raises(IOError) { here.readpartial(9) }
    end
  end

  def test_numbers_that_come_and_go_are_each_time_another_file
    [method(:in_fiber), method(:in_busy_loop)].each do |loop|
      loop.call do
        ROUNDS.times do |i|
          here, there = kept_pair
          fiber { sleep(0) && there.write(i.to_s) }
          assert_equal i.to_s, here.readpartial(9)
          (i.even? ? [here, there] : [there, here]).each(&:close)
          GC.start if (i % 10).zero?
        end
      end
    end
  end

  def test_news_that_nobody_waits_for_ends_the_keeping
    in_fiber do
      here, there = kept_pair
      there.write("x")
      sleep(0.001)
      assert_equal 0, registration(here)[:events] & (EDGE | READ)
      there.write("y")
      assert_equal "xy", here.readpartial(9)
      fiber { there.write("z") }
      assert_equal "z", here.readpartial(9)
      assert_equal 0, registration(here)[:events] & EDGE
    end
  end

  def test_others_may_wait_for_a_descriptor_that_is_kept
    in_fiber do
      here, there = kept_pair
      events = []
      fiber { events << here.wait_readable(SECONDS) && here.readpartial(9) }
      fiber { events << here.wait_readable(SECONDS) }
      fiber { events << here.wait_writable(SECONDS) }
      sleep(0) until events.size == 1
      fiber { assert_nil here.wait_readable(0.001) && events << nil }
      sleep(0.002)
      there.write("x")
      sleep(0) until events.size == 3
      assert_equal [here] * 3, events
    end
  end

  def test_a_second_wait_proves_the_first
    in_fiber do
      r, = kept_pipe
      fresh, fresh_writer = IO.pipe
      r.reopen(fresh)
      words = []
      fiber { words << r.readpartial(3) }
      fiber { r.wait_readable(SECONDS) && words << r.readpartial(3) }
      fresh_writer.write("onetwo")
      sleep(0) until words.size == 2
      assert_equal %w[one two], words.sort
    end
  end

  def test_a_trusting_wait_that_is_given_up_leaves_nothing_for_the_next
    in_fiber do
      here, there = kept_pair
      reader = fiber { assert_raises(RuntimeError) { here.readpartial(9) } }
      reader.raise("enough")
      sleep(0) while reader.alive?
      there.write("x")
      assert_equal false, Fiber.scheduler.block(:test, 0.001)
      assert_equal "x", here.readpartial(9)
      fiber { there.write("y") }
      assert_equal "y", here.readpartial(9)
    end
  end

  def test_urgent_data_of_a_descriptor_that_is_kept_is_told
    in_fiber do
      server = TCPServer.new("127.0.0.1", 0)
      there = TCPSocket.new("127.0.0.1", server.local_address.ip_port)
      here = keep(server.accept, there)
      fiber { there.send("!", Socket::MSG_OOB) }
      assert_equal IO::PRIORITY, Fiber.scheduler.io_wait(here, IO::PRIORITY, SECONDS)
      fiber { there.write("x") }
      assert_equal "x", here.readpartial(9)
    end
  end

  def test_a_forked_child_leaves_alone_what_its_parent_keeps
    in_fiber do
      here, there = kept_pair
      2.times do |i|
        pid = fork { exit!(registrations.any? { |one| one[:number] == here.fileno } ? 1 : 0) }
        fiber { sleep(0) && there.write(i.to_s) }
        assert_equal i.to_s, here.readpartial(9)
        assert_equal 0, Process.wait2(pid).last.exitstatus
      end
    end
  end

  # A word goes over each of a few pipes again and again while the numbers change their files in
  # every way there is. A lost word hangs the test.
  def test_nothing_is_lost_whatever_becomes_of_the_numbers
    seed = Random.new_seed
    [method(:in_fiber), method(:in_busy_loop)].each do |loop|
      @random = Random.new(seed)
      loop.call do
        changers = Array.new(8) do
          fiber do
            ROUNDS.times.inject(IO.pipe) { |pipe, _| changed(pipe).tap { |it| words_go(it) } }
          end
        end
        sleep(0) while changers.any?(&:alive?)
      end
    end
  rescue StandardError, Minitest::Assertion => e
    raise e.class, "#{e.message} (seed #{seed})", e.backtrace
  end

  private

  # @yieldparam thread [Thread] the loop's
  def in_fiber(&block)
    in_scheduler { fiber { block.call(Thread.current) } }
  end

  # In a loop that never sleeps.
  def in_busy_loop
    in_scheduler do
      done = false
      fiber do
        yield
      ensure
        done = true
      end
      fiber { sleep(0) until done }
    end
  end

  # When the thread sleeps.
  def later(thread)
    Thread.new { (Thread.pass until thread.stop?) || yield }
  end

  def kept_pair
    here, there = UNIXSocket.pair
    [keep(here, there), there]
  end

  def kept_pipe
    r, w = IO.pipe
    [keep(r, w), w]
  end

  # What waits after an empty read is registered to stay; the second time it is trusted.
  def keep(reader, writer)
    2.times { fiber { sleep(0) && writer.write("x") } && reader.readpartial(9) }
    reader
  end

  # One, two or three words, some of them before they are waited for.
  def words_go(pipe)
    r, w = pipe
    @random.rand(1..3).times do |i|
      i.even? ? fiber { sleep(0) && w.write("word") } : w.write("word")
      assert_equal "word", r.readpartial(9)
    end
  end

  # Leaves the pipe, closes it, closes it while a copy is open, or has other files under its
  # numbers, by Ruby or behind its back.
  def changed(pipe)
    r, w = pipe
    case @random.rand(CHANGES)
    when 0 then pipe
    when 1 then pipe.each(&:close) && IO.pipe
    when 2 then (copies = pipe.map(&:dup)) && pipe.each(&:close) && copies
    when 3 then renewed(pipe) { |from, to| to.reopen(from) }
    when 4 then renewed(pipe) { |from, to| duplicate(from.fileno, to.fileno) }
    else
      copy = r.dup
      fiber { sleep(0.001) && copy.close }
      renewed([r, w]) { |from, to| duplicate(from.fileno, to.fileno) }
    end
  end

  def renewed(pipe, &block)
    fresh = IO.pipe
    fresh.zip(pipe).each(&block)
    fresh.each(&:close)
    pipe
  end

  def assert_registered_once(io)
    yield 3
    before = registration(io)
    assert_equal EDGE | READ, before[:events] & (EDGE | READ)
    yield ROUNDS
    # One that was trusted too long, because the machine had other things to do, is proven.
    assert_operator registration(io)[:data] - before[:data] >> 32, :<, ROUNDS / 5
  end

  def registration(io)
    registrations.find { |one| one[:number] == io.fileno }
  end

  # Of every epoll of this process.
  def registrations
    Dir.children("/proc/self/fdinfo").flat_map do |number|
      lines = File.read("/proc/self/fdinfo/#{number}")
      lines.scan(/^tfd:\s+(\d+) events:\s+(\h+) data:\s+(\h+)/).map do |fd, events, data|
        { number: fd.to_i, events: events.hex, data: data.hex }
      end
    rescue Errno::ENOENT
      []
    end
  end

  def libc(name, count)
    Fiddle::Function.new(Fiddle.dlopen(nil)[name], [Fiddle::TYPE_INT] * count, Fiddle::TYPE_INT)
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
    libc("close", 1).call(number)
  end

  def duplicate(from, to)
    libc("dup2", 2).call(from, to)
  end
end
