# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "open3"
require "rbconfig"

# Tests how a process ends, or goes on, whatever happens to its loop: signals, exceptions, exits,
# forks, killed threads, collections. Each script runs in a process of its own. Its output, its
# standard error and its end are all looked at, so that a crash, a hang and a stray message are each
# a failure.
class SchedulerLifecycleTest < Minitest::Test
  SECONDS = Patience::SECONDS
  PRELUDE = <<~RUBY
    require "neverblock"
    $stdout.sync = true
    def in_thread(&block)
      Thread.new do
        Thread.current.report_on_exception = false
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
        block.call
      end
    end
    def status(pid) = Process.wait2(pid).last.exitstatus
  RUBY

  # @param ends [Integer, String] exit status, or the name of the signal that ends it
  def self.script(name, text, out: "", err: /\A\z/, ends: 0)
    define_method("test_#{name}") do
      command = ["timeout", "-s", "KILL", SECONDS.to_s, RbConfig.ruby, "-W0",
                 *$LOAD_PATH.map { |path| "-I#{path}" }, "-e", PRELUDE + text]
      seen, said, status = Open3.capture3(*command)
      ended = status.signaled? ? Signal.signame(status.termsig) : status.exitstatus
      assert_equal [out, ends], [seen, ended], said
      assert_match err, said
    end
  end

  script "a_trap_handler_runs_while_the_loop_sleeps_and_while_fibers_are_busy",
         <<~RUBY, out: "5 handled\n"
           handled = 0
           heard = Queue.new
           trap("USR1") { handled += 1; heard << true }
           NB.run do
             3.times { Process.kill(:USR1, $$); 1000.times { Object.new }; heard.pop }
             go_on, goes_on = IO.pipe # two signals that wait for one process are one
             killer = spawn("for i in 1 2; do kill -USR1 \#{$$}; read line; done", in: go_on)
             Fiber.schedule { 2.times { heard.pop; goes_on.puts } }
             Process.wait(killer)
           end
           puts "\#{handled} handled"
         RUBY

  script "a_trap_handler_that_raises_leaves_a_sleeping_loop", <<~RUBY, out: "from the trap\non\n"
    trap("USR1") { raise IndexError, "from the trap" }
    Fiber.set_scheduler(NeverBlock::Scheduler.new)
    Fiber.schedule { sleep }
    main = $$
    inside, coming = IO.pipe
    fork { inside.getc; sleep(0.05); Process.kill(:USR1, main); exit!(0) }
    Fiber.schedule { sleep(0); coming << "x" }
    begin
      Fiber.scheduler.run
    rescue IndexError => e
      puts e.message, "on"
    end
    exit!(0)
  RUBY

  script "interrupt_leaves_nb_run_and_the_process_goes_on",
         <<~RUBY, out: "ensured\ninterrupted\non\n"
           main = $$
           begin
             NB.run do
               Fiber.schedule { begin; sleep; ensure; puts "ensured"; end }
               fork { sleep(0.05); Process.kill(:INT, main); exit!(0) }
               sleep
             end
           rescue Interrupt
             puts "interrupted"
           end
           NB.run { sleep(0.001); puts "on" }
         RUBY

  script "interrupt_that_nobody_rescues_ends_the_process_as_ever",
         <<~RUBY, err: /Interrupt/, ends: "INT"
           main = $$
           NB.run { fork { sleep(0.05); Process.kill(:INT, main); exit!(0) }; sleep }
         RUBY

  script "term_ends_the_process_as_ever", <<~RUBY, ends: "TERM"
    main = $$
    NB.run { fork { sleep(0.05); Process.kill(:TERM, main); exit!(0) }; sleep }
  RUBY

  script "exit_in_a_fiber_ends_the_process_with_its_status_and_its_handlers",
         <<~RUBY, out: "at exit\n", ends: 3
           at_exit { puts "at exit" }
           Fiber.set_scheduler(NeverBlock::Scheduler.new)
           Fiber.schedule { sleep }
           Fiber.schedule { sleep(0.001); exit(3) }
         RUBY

  script "abort_in_a_fiber_says_its_message_and_no_more", <<~RUBY, err: /\Atold\n\z/, ends: 1
    Fiber.set_scheduler(NeverBlock::Scheduler.new)
    Fiber.schedule { sleep }
    Fiber.schedule { sleep(0.001); abort("told") }
  RUBY

  script "exit_of_the_main_thread_waits_for_no_fiber", <<~RUBY, ends: 4
    Fiber.set_scheduler(NeverBlock::Scheduler.new)
    Fiber.schedule { sleep }
    exit(4)
  RUBY

  script "exit_bang_while_loops_run_in_threads", <<~RUBY, ends: 5
    started = Queue.new
    2.times { in_thread { Fiber.schedule { started << true; sleep } } }
    2.times { started.pop }
    exit!(5)
  RUBY

  script "an_error_of_the_main_thread_is_told_once",
         <<~RUBY, err: /\A[^\n]*told \(RuntimeError\)\n?\z/, ends: 1
           Fiber.set_scheduler(NeverBlock::Scheduler.new)
           Fiber.schedule { sleep }
           raise "told"
         RUBY

  script "the_main_thread_ends_while_loops_run_in_threads", <<~RUBY, out: "main ends\n"
    started = Queue.new
    3.times do
      in_thread do
        20.times { Fiber.schedule { started << true; sleep } }
        Fiber.schedule { IO.pipe { |r, _| started << true; r.read } }
      end
    end
    63.times { started.pop }
    puts "main ends"
  RUBY

  script "an_at_exit_handler_may_wait_and_one_that_raises_keeps_none_from_running",
         <<~RUBY, out: "fiber\nwaited\n", err: /\A[^\n]*told \(RuntimeError\)\n?\z/, ends: 1
           at_exit { sleep(0.001); Thread.new { sleep(0.001) }.join; puts "waited" }
           at_exit { raise "told" }
           Fiber.set_scheduler(NeverBlock::Scheduler.new)
           Fiber.schedule { sleep(0.001); puts "fiber" }
         RUBY

  said = /\A#<Fiber.*terminated with exception:\n.*told \(RuntimeError\)/m
  script "an_error_of_a_fiber_is_told_and_costs_that_fiber_only", <<~RUBY, out: "on\n", err: said
    NB.run do
      Fiber.schedule { raise "told" }
      sleep(0.001)
      puts "on"
    end
  RUBY

  script "a_thread_that_is_killed_while_its_fibers_wait_is_gone_and_collected",
         <<~RUBY, out: "gone\n0 left\n"
           started = Queue.new
           20.times do
             thread = in_thread { 5.times { Fiber.schedule { started << true; sleep } } }
             5.times { started.pop }
             thread.kill.join
           end
           3.times { GC.start }
           puts "gone"
           puts "\#{ObjectSpace.each_object(NeverBlock::Scheduler).count.clamp(5, nil) - 5} left"
         RUBY

  script "what_is_raised_into_the_loops_thread_leaves_it", <<~RUBY, out: "told\n"
    started = Queue.new
    thread = in_thread { Fiber.schedule { started << true; sleep } }
    started.pop
    thread.raise(IndexError, "told")
    begin
      thread.join
    rescue IndexError => e
      puts e.message
    end
  RUBY

  script "children_of_a_fiber_end_as_they_should",
         <<~RUBY, out: "child\n[0, 0, 6, 1]\nparent\n", err: /\A[^\n]*of the child \(RuntimeError\)/
           NB.run do
             told = Queue.new
             Fiber.schedule { told.pop; puts "parent" }
             statuses = [status(fork { puts "child" }), status(fork { exec("true") }),
                         status(fork { raise SystemExit.new(6) }), status(fork { raise "of the child" })]
             p statuses
             told << true
           end
         RUBY

  script "a_child_that_goes_on_behind_fork_has_no_scheduler_and_none_of_the_parents_fibers",
         <<~RUBY, out: "nil\n0\nparent\n"
           Thread.new do
             Fiber.set_scheduler(NeverBlock::Scheduler.new)
             told = Queue.new
             Fiber.schedule { told.pop; puts "parent" }
             Fiber.schedule { (pid = fork) ? p(status(pid)) && told << true : p(Fiber.scheduler) }
           end.join
         RUBY

  script "a_child_of_a_thread_beside_a_loop_may_run_a_loop", <<~RUBY, out: "in the child\n0\n"
    started = Queue.new
    in_thread { Fiber.schedule { started << true; sleep } }
    started.pop
    p status(fork { NB.run { Fiber.schedule { sleep(0.001); puts "in the child" } } })
  RUBY

  script "a_ractor_is_refused_in_a_sentence",
         <<~RUBY, out: "NeverBlock::Scheduler works in the main Ractor only\n"
           ractor = Ractor.new do
             NeverBlock::Scheduler.new
           rescue StandardError => e
             e.message
           end
           puts ractor.respond_to?(:value) ? ractor.value : ractor.take
         RUBY

  script "objects_may_be_moved_while_fibers_are_parked", <<~RUBY, out: "200\n"
    GC.auto_compact = true if GC.respond_to?(:auto_compact=)
    ended = 0
    NB.run do
      queue = Queue.new
      100.times do |i|
        Fiber.schedule do
          words = Array.new(20) { |j| "word \#{i} \#{j}" }
          queue.pop
          sleep(0.001)
          ended += 1 if words == Array.new(20) { |j| "word \#{i} \#{j}" }
        end
      end
      100.times do |i|
        Fiber.schedule do
          r, w = IO.pipe
          Fiber.schedule { sleep(0.002); w.write(i.to_s); w.close }
          ended += 1 if r.read == i.to_s
        end
      end
      GC.compact if GC.respond_to?(:compact)
      if GC.respond_to?(:verify_compaction_references)
        GC.verify_compaction_references(toward: :empty)
      end
      100.times { queue << true; GC.start if rand(20).zero? }
    end
    p ended
  RUBY

  # A limit cuts the connections that its wait is for, and finds them where they lie by then.
  script "a_wait_for_many_knows_its_connections_after_a_compaction", <<~'RUBY', out: "[20, 0]\n"
    require "socket"
    class Limit < StandardError
      include NeverBlock::FromOutside
    end
    SERVER = TCPServer.new("127.0.0.1", 0)
    def connect(count)
      Array.new(count) { TCPSocket.new("127.0.0.1", SERVER.local_address.ip_port) }
    end
    def cut(sockets) = sockets.count { |it| it.write_nonblock("x") && false rescue true }
    # A thread of its own: what a stack refers to is not moved.
    waited = Thread.new { Array.new(100_000) { Object.new } && connect(20) }.value
    in_thread do
      waiter = nil
      Fiber.schedule do
        waiter = Fiber.current
        IO.select(waited)
      rescue Limit
        nil
      end
      if GC.respond_to?(:verify_compaction_references)
        GC.verify_compaction_references(toward: :empty)
      end
      others = connect(400)
      Fiber.scheduler.raise_in(waiter, Limit)
      Fiber.schedule { sleep(0.001) and p [cut(waited), cut(others)] }
    end.join
  RUBY

  # Ruby sweeps bit by bit: the fibers of a scheduler may be gone before it is, and their stacks be
  # another's.
  script "a_close_passes_by_schedulers_whose_fibers_are_swept", <<~RUBY, out: "true\n"
    def deep(n) = n.zero? ? Fiber.yield : [n].any? { deep(n - 1) }
    pipes = Array.new(40) { IO.pipe }
    leave = lambda do
      made = Array.new(10) { NeverBlock::Scheduler.new }
      made.each { |it| pipes.each { |r, _w| it.fiber { it.io_wait(r, IO::READABLE, nil) } } }
    end
    kept = Array.new(200_000) { Object.new }
    (0...200_000).step(20) { |i| kept[i] = nil }
    GC.start
    GC.disable
    # Threads of their own: what a stack refers to is not collected.
    Thread.new { leave.call && nil }.join
    Thread.new { Fiber.new { deep(100) }.resume }.join
    GC.enable
    GC.start(immediate_sweep: false)
    while GC.latest_gc_info(:state) == :sweeping
      5.times { kept << Fiber.new { deep(20) }.tap(&:resume) }
      pipes.shift.first.close if pipes.any?
    end
    p ObjectSpace.each_object(NeverBlock::Scheduler).count < 10
  RUBY

  # A scheduler that no thread runs yet, made in each state of Ruby's collector.
  script "a_close_reaches_a_fiber_whose_loop_has_not_begun", <<~RUBY, out: "IOError\n" * 3
    %i[none marking sweeping].each do |state|
      GC.start(immediate_mark: state != :marking, immediate_sweep: state == :none)
      scheduler = NeverBlock::Scheduler.new
      r, = IO.pipe
      scheduler.fiber do
        scheduler.io_wait(r, IO::READABLE, nil)
      rescue IOError
        p IOError
      end
      Array.new(20) { "x" * 100 } while GC.latest_gc_info(:state) == :marking
      r.close
      scheduler.run
    end
  RUBY
end
