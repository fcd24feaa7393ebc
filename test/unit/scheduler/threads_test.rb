# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "open3"

# The scheduler's thread and others: joins, wakes from outside, Thread#raise, Thread#kill.
class SchedulerThreadsTest < Minitest::Test
  include SchedulerHarness

  def test_thread_join_and_value_let_other_fibers_run
    queue = Queue.new
    gate = Gate.new(20)
    values = []
    in_scheduler do
      20.times { |i| fiber { gate.enter and values << Thread.new { queue.pop and i }.value } }
      when_full(gate) { 20.times { queue << true } }
    end
    assert_equal (0...20).to_a, values.sort
  end

  # Makes a thread sleep right after it has woken the fiber that waits for it, as one that loses
  # Ruby's lock there does.
  module EndsSlowly
    def unblock(*)
      super.tap { sleep 0.02 if Thread.current[:ends_slowly] }
    end
  end

  def test_a_thread_that_was_waited_for_is_dead_and_has_unlocked_its_mutexes
    seen = []
    mutexes = Array.new(8) { Mutex.new }
    in_scheduler do
      Fiber.scheduler.extend(EndsSlowly)
      mutexes.each do |mutex|
        fiber do
          thread = Thread.new { Thread.current[:ends_slowly] = true and mutex.lock }
          thread.join
          seen << [thread.status, mutex.locked?]
        end
      end
    end
    assert_equal [[false, false]], seen.uniq
  end

  def test_a_push_from_another_thread_wakes_a_sleeping_loop
    queue = Queue.new
    answer = Queue.new
    other = Thread.new { 100.times { |i| queue << i and answer.pop } }
    got = []
    in_scheduler { fiber { 100.times { got << queue.pop and answer << true } } }
    other.join(SECONDS)
    assert_equal (0...100).to_a, got
  end

  # In a process of its own: numbers that are closed behind their owner's back are given out again.
  def test_loops_whose_wake_descriptors_somebody_has_closed_are_woken_and_ended_all_the_same
    skip "/proc/self/fd tells what is an eventfd" unless File.directory?("/proc/self/fd")

    command = ["timeout", (3 * SECONDS).to_s, RbConfig.ruby,
               *$LOAD_PATH.map { |path| "-I#{path}" }, "-e"]
    out, err, = Open3.capture3(*command, <<~RUBY)
      require "neverblock"
      eventfds = -> {
        Dir.children("/proc/self/fd").map(&:to_i).select do |fd|
          (File.readlink("/proc/self/fd/\#{fd}") rescue "").include?("eventfd")
        end
      }
      Thread.new { sleep }
      before = eventfds.call
      queues = Array.new(40) { Queue.new }
      threads = queues.map { |queue| Thread.new { NB.run { queue.pop } } }
      Thread.pass until queues.all? { |queue| queue.num_waiting == 1 }
      closed = (eventfds.call - before).each { |fd| IO.for_fd(fd).close }.size
      queues.first(20).each { |queue| queue << true }
      threads.last(20).each(&:kill)
      puts closed, threads.count { |thread| thread.join(#{SECONDS}) }
      $stdout.flush
      exit!
    RUBY
    assert_equal ["40\n40\n", ""], [out, err]
  end

  def test_a_pop_in_another_thread_makes_room_for_a_fiber_that_pushes
    queue = SizedQueue.new(1)
    got = []
    other = Thread.new { 100.times { got << queue.pop } }
    in_scheduler { fiber { 100.times { |i| queue << i } } }
    other.join(SECONDS)
    assert_equal (0...100).to_a, got
  end

  def test_a_mutex_held_by_another_thread_parks_the_fiber_only
    mutex = Mutex.new
    held = Queue.new
    release = Queue.new
    other = Thread.new { mutex.synchronize { held << true and release.pop } }
    held.pop
    order = []
    in_scheduler do
      fiber { mutex.synchronize { order << :locked } }
      fiber { order << :other_fiber and release << true }
    end
    other.join(SECONDS)
    assert_equal %i[other_fiber locked], order
  end

  def test_two_schedulers_in_two_threads_talk_through_queues
    there = Queue.new
    back = Queue.new
    other = Thread.new do
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.schedule { 1000.times { back << there.pop } }
    end
    got = []
    in_scheduler { fiber { 1000.times { |i| there << i and got << back.pop } } }
    assert other.join(SECONDS)
    assert_equal (0...1000).to_a, got
  end

  def test_thread_raise_leaves_the_sleeping_loop
    thread, started = sleeping_scheduler
    started.pop
    thread.raise(ArgumentError, "from outside")
    error = assert_raises(ArgumentError) { thread.join(SECONDS) or flunk("still there") }
    assert_equal "from outside", error.message
  end

  def test_thread_kill_ends_the_sleeping_loop
    thread, started = sleeping_scheduler
    started.pop
    thread.kill
    assert thread.join(SECONDS), "the thread was killed and lives"
  end

  def test_a_thread_killed_before_its_loop_began_ends
    started = Queue.new
    thread = Thread.new do
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.schedule { sleep }
      started << true
      Thread.stop
    end
    started.pop
    thread.kill
    assert thread.join(SECONDS), "the thread was killed and lives"
  end

  def test_thread_raise_reaches_a_loop_that_never_sleeps
    started = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.schedule do
        loop do
          started << true if started.empty?
          sleep(0)
        end
      end
    end
    started.pop
    thread.kill
    assert thread.join(SECONDS), "the thread was killed and lives"
  end

  # Its fibers have different $?, which each switch between them writes.
  def test_nothing_that_is_raised_at_a_busy_loop_is_lost
    over = begun = false
    seen = Queue.new
    thread = Thread.new do
      Fiber.set_scheduler(scheduler = NeverBlock::Scheduler.new)
      Fiber.schedule { noting(seen) { system("true") && (sleep(0) until over) } }
      Fiber.schedule { noting(seen) { sleep(0) until over } }
      noting(seen) { (begun ||= seen.push(:begun)) && scheduler.run }
    end
    30.times do
      Timeout.timeout(SECONDS) { seen.pop }
      thread.raise(IOError)
    end
    Timeout.timeout(SECONDS) { seen.pop }
    over = true
    assert thread.join(SECONDS), "the loop goes on"
  end

  # Begins the block again after each. The next may come before it has begun.
  def noting(seen, times = 5, &block)
    times.zero? ? yield : noting(seen, times - 1, &block)
  rescue IOError => e
    seen << e
    retry
  end

  def test_an_exception_raised_at_a_thread_that_masks_it_waits_for_the_mask
    started = Queue.new
    order = []
    thread = Thread.new do
      Thread.current.report_on_exception = false
      Thread.handle_interrupt(IOError => :never) do
        scheduler = NeverBlock::Scheduler.new
        Fiber.set_scheduler(scheduler)
        Fiber.schedule { started << true and sleep(0.05) and order << :slept }
        scheduler.run
        order << :run
      end
    end
    started.pop
    thread.raise(IOError, "later")
    assert_raises(IOError) { thread.join(SECONDS) or flunk("still there") }
    assert_equal %i[slept run], order
  end

  def test_a_signal_is_handled_while_the_main_thread_sleeps_in_the_loop
    script = <<~RUBY
      require "neverblock/scheduler"
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      queue = Queue.new
      trap("USR1") { puts "trapped"; queue << true }
      Fiber.schedule { puts "ready"; $stdout.flush; queue.pop; puts "woken" }
    RUBY
    output, status = run_script(script) do |pid, line|
      Process.kill("USR1", pid) if line == "ready\n"
    end
    assert_equal "ready\ntrapped\nwoken\n", output
    assert_predicate status, :success?
  end

  def test_interrupt_ends_a_process_whose_main_thread_sleeps_in_the_loop
    script = <<~RUBY
      require "neverblock/scheduler"
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      begin
        Fiber.schedule { puts "ready"; $stdout.flush; sleep }
        Fiber.scheduler.run
      rescue Interrupt
        puts "interrupted"
        $stdout.flush
        exit!(3)
      end
    RUBY
    output, status = run_script(script) do |pid, line|
      Process.kill("INT", pid) if line == "ready\n"
    end
    assert_equal "ready\ninterrupted\n", output
    assert_equal 3, status.exitstatus
  end

  # SIGCONT ends a system call that waits (signal(7)). A thread that has nothing to do goes on to
  # wait without Ruby's lock. Otherwise the thread that computes would have to give it the lock.
  def test_a_loop_that_sleeps_does_not_want_the_lock_because_its_process_was_stopped
    script = <<~RUBY
      require "neverblock/scheduler"
      over = false
      trap("USR1") { over = true }
      ready = Queue.new
      Thread.new do
        Fiber.set_scheduler(scheduler = NeverBlock::Scheduler.new)
        scheduler.slice_ms = 1
        Fiber.schedule { ready << scheduler and sleep(#{2 * SECONDS}) }
      end
      scheduler = ready.pop
      until Thread.list.all? { |thread| thread == Thread.main || thread.status == "sleep" }
        Thread.pass
      end
      before = scheduler.lock_handoffs
      puts "ready"
      $stdout.flush
      nil until over
      puts scheduler.lock_handoffs - before
      $stdout.flush
      exit!
    RUBY
    output, = run_script(script) do |pid, line|
      next unless line == "ready\n"

      stop_and_go(pid, times: 20)
      Process.kill("USR1", pid)
    end
    assert_equal "ready\n0\n", output
  end

  private

  # Takes long enough for the watchdog, which asks each millisecond, to offer the lock to a thread
  # that wants it.
  def stop_and_go(pid, times:)
    times.times do
      Process.kill("STOP", pid)
      sleep(0.002)
      Process.kill("CONT", pid)
      sleep(0.01)
    end
  end

  def sleeping_scheduler
    started = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      scheduler = NeverBlock::Scheduler.new
      Fiber.set_scheduler(scheduler)
      Fiber.schedule { started << true and sleep }
      Fiber.schedule { IO.pipe.then { |r, _w| r.read(1) } }
      scheduler.run
    end
    [thread, started]
  end

  # The child's whole output. The block is called with each line when it comes. A child that does
  # not end is killed.
  def run_script(script)
    command = [RbConfig.ruby, *$LOAD_PATH.map { |path| "-I#{path}" }, "-W0", "-e", script]
    IO.popen(command, err: %i[child out]) do |io|
      killer = Thread.new { sleep(SECONDS) and Process.kill("KILL", io.pid) }
      output = +""
      while (line = io.gets)
        output << line
        yield io.pid, line
      end
      _, status = Process.wait2(io.pid)
      killer.kill
      return [output, status]
    end
  end
end
