# frozen_string_literal: true

require "timeout"

HookTable.library "Timeout" do
  row "Timeout.timeout", "the block is done in time", also: %w[Timeout#timeout] do
    reader, writer = IO.pipe
    inside { Timeout.timeout(60) { reader.gets } }
    event { writer.puts("hello") }
    gives "hello\n"
  end

  row "Timeout.timeout", "the time is over" do
    reader, @writer = IO.pipe
    inside { Timeout.timeout(0.2) { reader.gets } }
    elapses
    raises Timeout::Error
  end

  row "Timeout.timeout", "with a class of one's own, around a lock" do
    mutex = Thread::Mutex.new
    @gate = held_elsewhere(mutex)
    inside { Timeout.timeout(0.2, KeyError) { mutex.lock } }
    elapses
    raises KeyError
  end
end
