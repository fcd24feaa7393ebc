# frozen_string_literal: true

HookTable.library "Thread::Queue" do
  row "Thread::Queue#pop" do
    queue = Thread::Queue.new
    inside { queue.pop }
    event { queue << 7 }
    gives 7
  end

  row "Thread::Queue#pop", "from a thread", also: %w[Thread::Queue#shift Thread::Queue#deq] do
    queue = Thread::Queue.new
    gate = Thread::Queue.new
    other_thread { queue << gate.pop }
    inside { queue.shift }
    event { gate << 8 }
    gives 8
  end
end
