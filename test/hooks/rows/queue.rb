# frozen_string_literal: true

HookTable.library "Thread::Queue" do
  row "Thread::Queue#pop", also: %w[Thread::Queue#shift Thread::Queue#deq] do
    queue = Thread::Queue.new
    inside { queue.pop }
    event { queue << 7 }
    gives 7
  end

  row "Thread::Queue#pop", "pushed to by a thread" do
    queue = Thread::Queue.new
    gate = Thread::Queue.new
    other_thread { queue << gate.pop }
    inside { queue.pop }
    event { gate << 8 }
    gives 8
  end

  row "Thread::Queue#pop", "within a time", since: "3.2" do
    queue = Thread::Queue.new
    inside { queue.pop(timeout: 60) }
    event { queue << 7 }
    gives 7
  end

  row "Thread::Queue#pop", "until the time is over", since: "3.2" do
    queue = Thread::Queue.new
    inside { queue.pop(timeout: 0.2) }
    elapses
    gives nil
  end

  row "Thread::Queue#pop", "of a queue that is closed meanwhile" do
    queue = Thread::Queue.new
    inside { queue.pop }
    event { queue.close }
    gives nil
  end
end

HookTable.library "Thread::SizedQueue" do
  row "Thread::SizedQueue#push", also: %w[Thread::SizedQueue#<< Thread::SizedQueue#enq] do
    queue = Thread::SizedQueue.new(1)
    queue << 1
    inside { queue.push(2).size }
    event { queue.pop }
    gives 1
  end

  row "Thread::SizedQueue#push", "popped from by a thread" do
    queue = Thread::SizedQueue.new(1)
    queue << 1
    gate = Thread::Queue.new
    other_thread { gate.pop && queue.pop }
    inside { queue.push(2).size }
    event { gate << true }
    gives 1
  end

  row "Thread::SizedQueue#push", "within a time", since: "3.2" do
    queue = Thread::SizedQueue.new(1)
    queue << 1
    inside { queue.push(2, timeout: 60).size }
    event { queue.pop }
    gives 1
  end

  row "Thread::SizedQueue#push", "until the time is over", since: "3.2" do
    queue = Thread::SizedQueue.new(1)
    queue << 1
    inside { queue.push(2, timeout: 0.2) }
    elapses
    gives nil
  end

  row "Thread::SizedQueue#pop", also: %w[Thread::SizedQueue#shift Thread::SizedQueue#deq] do
    queue = Thread::SizedQueue.new(1)
    inside { queue.pop }
    event { queue << 7 }
    gives 7
  end
end
