# frozen_string_literal: true

require_relative "../support/library"

Clients.library("async") do
  requires "async"
  note "`Async { }` and `Sync { }` in a request have a thread and a loop of their own for the " \
       "time (NB.offload), and what the request keeps; at most as many at once " \
       "as NB.offload_threads"

  check(:together, "20 fibers in Sync { } at once, each with three tasks that wait") do
    entered = Thread::Queue.new
    opened = Thread::Queue.new
    Fiber.schedule { 20.times { entered.pop }.then { 20.times { opened << true } } }
    while_ticking do
      each_its_own(20) do |mine|
        Sync do |task|
          entered << true
          opened.pop
          Array.new(3) { |index| task.async { sleep(0.05) && "#{mine}#{index}" } }.map(&:wait)
               .then { |parts| parts.first.delete_suffix("0") }
        end
      end
    end
  end

  check(:error, "what its block raises, and its value, are the caller's") do
    same("inside", raises(KeyError) { Sync { raise KeyError, "inside" } }.message)
    same(3, Async { 3 }.wait)
    same([1, nil], [Sync { |task| task.async { 1 }.wait }, Fiber.scheduler.run && nil])
  end

  check(:state, "thread variables are the caller's in there, and what is set there stays") do
    fibers(5) do |index|
      Thread.current.thread_variable_set(:mine, index)
      same(index, Sync { |task|
        task.async { sleep(0.01) && Thread.current.thread_variable_get(:mine) }.wait
      })
      Sync { Thread.current.thread_variable_set(:mine, index + 10) }
      same(index + 10, Thread.current.thread_variable_get(:mine))
    end
    "5 fibers"
  end

  check(:deadline, "NB.deadline and Timeout end it, with its tasks") do
    ended = []
    work = lambda do |*|
      Sync do |task|
        task.async { sleep }.wait
      ensure
        ended << true
      end
    end
    raises(NB::DeadlineExceeded) { NB.deadline(0.1, &work) }
    raises(Timeout::Error) { Timeout.timeout(0.1, &work) }
    same([true, true], ended)
  end

  check(:scheduler, "a reactor of one's own is refused, and the error says where it can be") do
    error = raises(NeverBlock::Error) { ::Async::Reactor.new.run { nil } }
    hold(error.message.include?("NB.offload"), error.message)
    found = NB.offload do
      ::Async::Reactor.new.then do |reactor|
        reactor.run { 4 }.wait.tap { Fiber.set_scheduler(nil) }
      end
    end
    same(4, found)
  end
end
