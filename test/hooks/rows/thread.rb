# frozen_string_literal: true

HookTable.library "Thread" do
  row "Thread#join" do
    gate = Thread::Queue.new
    thread = other_thread { gate.pop }
    inside { thread.join.equal?(thread) }
    event { gate << 5 }
    gives true
  end

  row "Thread#join", "within a time" do
    gate = Thread::Queue.new
    thread = other_thread { gate.pop }
    inside { thread.join(60).equal?(thread) }
    event { gate << 5 }
    gives true
  end

  row "Thread#join", "until the time is over", cured: { "< 3.3" => "thread_join" } do
    gate = Thread::Queue.new
    thread = other_thread { gate.pop }
    inside { thread.join(0.2) }
    elapses
    gives nil
  end

  row "Thread#value" do
    gate = Thread::Queue.new
    thread = other_thread { gate.pop }
    inside { thread.value }
    event { gate << 5 }
    gives 5
  end

  row "Thread#value", "of a thread that ends by an exception" do
    gate = Thread::Queue.new
    thread = other_thread { raise(KeyError) if gate.pop }
    inside { thread.value }
    event { gate << 5 }
    raises KeyError
  end

  row "Thread.pass", "until another fiber has done something", cured: { ">= 0" => "thread_pass" } do
    done = false
    inside { Thread.pass until done }
    event { done = true }
  end

  row "Thread.stop", "until Thread#wakeup",
      blocks: "it stops the thread, not a fiber: thread.c, rb_thread_stop" do
    inside { Thread.stop }
    event { @loop_thread.wakeup }
  end

  row "Thread#raise", "at the thread of a loop that waits" do
    gate = Thread::Queue.new
    thread = other_thread do
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.schedule { gate.pop }
      Fiber.scheduler.run
    end
    inside { thread.value }
    event { thread.raise(KeyError) }
    raises KeyError
  end
end

HookTable.library "Thread::Mutex" do
  row "Thread::Mutex#lock", "held by a thread" do
    mutex = Thread::Mutex.new
    gate = held_elsewhere(mutex)
    inside { mutex.lock.owned? }
    event { gate << true }
    gives true
  end

  row "Thread::Mutex#lock", "held by another fiber" do
    mutex = Thread::Mutex.new
    gate = Thread::Queue.new
    companion { mutex.synchronize { gate.pop } }
    inside { mutex.lock.owned? }
    event { gate << true }
    gives true
  end

  row "Thread::Mutex#synchronize" do
    mutex = Thread::Mutex.new
    gate = held_elsewhere(mutex)
    inside { mutex.synchronize { mutex.owned? } }
    event { gate << true }
    gives true
  end

  row "Thread::Mutex#sleep" do
    mutex = Thread::Mutex.new
    inside { mutex.synchronize { [mutex.sleep(0.2), mutex.owned?] } }
    elapses
    gives [nil, true]
  end
end

HookTable.library "Thread::ConditionVariable" do
  row "Thread::ConditionVariable#wait", "signalled by a fiber" do
    mutex = Thread::Mutex.new
    condition = Thread::ConditionVariable.new
    inside { mutex.synchronize { condition.wait(mutex) && mutex.owned? } }
    event { mutex.synchronize { condition.signal } }
    gives true
  end

  row "Thread::ConditionVariable#wait", "signalled by a thread" do
    mutex = Thread::Mutex.new
    condition = Thread::ConditionVariable.new
    gate = Thread::Queue.new
    other_thread { gate.pop && mutex.synchronize { condition.broadcast } }
    inside { mutex.synchronize { condition.wait(mutex) && mutex.owned? } }
    event { gate << true }
    gives true
  end

  row "Thread::ConditionVariable#wait", "within a time" do
    mutex = Thread::Mutex.new
    condition = Thread::ConditionVariable.new
    inside { mutex.synchronize { condition.wait(mutex, 60) && mutex.owned? } }
    event { mutex.synchronize { condition.signal } }
    gives true
  end

  row "Thread::ConditionVariable#wait", "until the time is over" do
    mutex = Thread::Mutex.new
    condition = Thread::ConditionVariable.new
    inside { mutex.synchronize { [condition.wait(mutex, 0.2), mutex.owned?] } }
    elapses
    gives [nil, true]
  end
end

HookTable.library "Monitor" do
  row "Monitor#enter", also: %w[Monitor#mon_enter] do
    monitor = Monitor.new
    gate = held_elsewhere(monitor)
    inside { monitor.enter || monitor.mon_owned? }
    event { gate << true }
    gives true
  end

  row "Monitor#synchronize", "held by another fiber", also: %w[Monitor#mon_synchronize] do
    monitor = Monitor.new
    gate = Thread::Queue.new
    companion { monitor.synchronize { gate.pop } }
    inside { monitor.synchronize { monitor.mon_owned? } }
    event { gate << true }
    gives true
  end

  row "MonitorMixin::ConditionVariable#wait", also: %w[Monitor#wait_for_cond] do
    monitor = Monitor.new
    condition = monitor.new_cond
    inside { monitor.synchronize { condition.wait && monitor.mon_owned? } }
    event { monitor.synchronize { condition.signal } }
    gives true
  end

  row "MonitorMixin::ConditionVariable#wait", "until the time is over" do
    monitor = Monitor.new
    condition = monitor.new_cond
    inside { monitor.synchronize { [condition.wait(0.2), monitor.mon_owned?] } }
    elapses
    gives [false, true]
  end

  row "MonitorMixin::ConditionVariable#wait_while",
      also: %w[MonitorMixin::ConditionVariable#wait_until] do
    monitor = Monitor.new
    condition = monitor.new_cond
    items = []
    inside { monitor.synchronize { condition.wait_while { items.empty? } || items.first } }
    event { monitor.synchronize { items << 4 && condition.broadcast } }
    gives 4
  end
end
