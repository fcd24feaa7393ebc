# frozen_string_literal: true

# Not fiber.rb: Ruby 3.1 then no longer finds its own feature "fiber".

HookTable.library "Fiber" do
  row "Fiber#resume", "of a fiber that waits" do
    reader, writer = IO.pipe
    inside { Fiber.new { reader.gets }.resume }
    event { writer.puts("hello") }
    gives "hello\n"
  end

  row "Fiber#resume", "of a fiber that yields between waits" do
    reader, writer = IO.pipe
    inside do
      fiber = Fiber.new { [Fiber.yield(reader.gets), reader.gets].last }
      fiber.resume + fiber.resume
    end
    event { writer.puts("one") }
    event { writer.puts("two") }
    gives "one\ntwo\n"
  end

  row "Fiber#resume", "of a fiber made with blocking: true", cured: { ">= 0" => "fiber_new" } do
    reader, writer = IO.pipe
    inside { Fiber.new(blocking: true) { reader.gets }.resume }
    event { writer.puts("hello") }
    gives "hello\n"
  end

  row "Fiber.blocking", "a wait in its block", since: "3.2",
      blocks: "that is what was asked for: cont.c, rb_fiber_blocking" do
    reader, writer = IO.pipe
    inside { Fiber.blocking { reader.gets } }
    event { writer.puts("hello") }
    gives "hello\n"
  end

  row "Fiber.schedule", "in a fiber, and its result" do
    reader, writer = IO.pipe
    queue = Thread::Queue.new
    inside { Fiber.schedule { queue << reader.gets } && queue.pop }
    event { writer.puts("hello") }
    gives "hello\n"
  end

  row "Fiber#raise", "at a fiber that waits" do
    reader, = @pipe = IO.pipe
    fiber = nil
    inside do
      fiber = Fiber.current
      reader.gets
    end
    event { fiber.raise(KeyError) }
    raises KeyError
  end
end

HookTable.library "Enumerator" do
  enumerator = { cured: { "< 3.3" => "enumerator" } }

  row "Enumerator#next", "of a body that waits", also: %w[Enumerator#next_values], **enumerator do
    reader, writer = IO.pipe
    inside { Enumerator.new { |out| out << reader.gets }.next }
    event { writer.puts("hello") }
    gives "hello\n"
  end

  row "Enumerator#peek", "of a body that waits", also: %w[Enumerator#peek_values], **enumerator do
    reader, writer = IO.pipe
    inside { reader.each_line.peek }
    event { writer.puts("hello") }
    gives "hello\n"
  end

  row "Enumerator#each", "of a body that waits",
      also: %w[Enumerator#with_index Enumerator#each_with_index Enumerator#with_object] do
    reader, writer = IO.pipe
    inside { Enumerator.new { |out| out << reader.gets }.to_a }
    event { writer.puts("hello") }
    gives ["hello\n"]
  end

  row "Enumerator::Lazy#first", "of a body that waits" do
    reader, writer = IO.pipe
    inside { reader.each_line.lazy.map(&:chomp).first }
    event { writer.puts("hello") }
    gives "hello"
  end

  row "Enumerator#next", "and a wait between two of them" do
    reader, writer = IO.pipe
    numbers = [1, 2].each
    inside { [numbers.next, reader.gets, numbers.next] }
    event { writer.puts("hello") }
    gives [1, "hello\n", 2]
  end

  row "Enumerator.produce", "and a body that waits, taken by #take" do
    reader, writer = IO.pipe
    inside { Enumerator.produce { reader.gets }.take(1) }
    event { writer.puts("hello") }
    gives ["hello\n"]
  end

  row "Enumerator::Product#each", "of a body that waits", since: "3.2" do
    reader, writer = IO.pipe
    inside { Enumerator::Product.new([1], reader.each_line).first }
    event { writer.puts("hello") }
    gives [1, "hello\n"]
  end
end

HookTable.library "Ractor" do
  reason = "a ractor's waits have no hook: ractor.c, ractor_sleep"

  row "Ractor#take", until: "4.0", blocks: reason do
    reader, writer = IO.pipe
    ractor = Ractor.new(reader.fileno) { |fd| IO.for_fd(fd, autoclose: false).gets }
    inside { ractor.take }
    event { writer.puts("hello") }
    gives "hello\n"
  end

  row "Ractor.receive", blocks: reason, also: %w[Ractor.recv Ractor.receive_if Ractor.select] do
    main = Ractor.current
    inside { Ractor.receive }
    event { main.send(6) }
    gives 6
  end
end
