# frozen_string_literal: true

HookTable.library "Kernel" do
  # @return [IO] what to write to, so that the call reads it as standard input
  def self.standard_input(name, gives, &call)
    row name, "from standard input" do
      reader, writer = IO.pipe
      $stdin.reopen(reader)
      ARGV.clear
      inside { instance_exec(&call) }
      event { writer << "typed\n" }
      event { writer.close } if gives.is_a?(Array)
      gives gives
    end
  end

  row "Kernel#sleep", "until the time is over" do
    inside { sleep(0.2) }
    elapses
    gives { |seconds| seconds.is_a?(Integer) }
  end

  row "Kernel#sleep", "for ever, until Fiber#raise" do
    fiber = nil
    inside { (fiber = Fiber.current) && sleep }
    event { fiber.raise(KeyError) }
    raises KeyError
  end

  standard_input("Kernel#gets", "typed\n") { gets }
  standard_input("Kernel#readline", "typed\n") { readline }
  standard_input("Kernel#readlines", ["typed\n"]) { readlines }

  row "Kernel#`" do
    reader, writer = blocking_pipe
    reader.close_on_exec = false
    inside { `read line <&#{reader.fileno}; echo $line; exit 3` + $?.exitstatus.to_s }
    event { writer.puts("hello") }
    gives "hello\n3"
  end

  row "Kernel#system" do
    words, options, gate = waiting_command
    inside { system(*words, out: File::NULL, **options) || $?.exitstatus }
    event { gate.puts }
    gives 3
  end

  row "Kernel#spawn", "and Process.wait", also: %w[Process.spawn] do
    words, options, gate = waiting_command
    inside { Process.wait(spawn(*words, out: File::NULL, **options)) && $?.exitstatus }
    event { gate.puts }
    gives 3
  end

  row "Kernel#fork", "and Process.wait", also: %w[Process.fork] do
    reader, writer = IO.pipe
    inside { Process.wait(fork { exit!(reader.read(1).to_i) }) && $?.exitstatus }
    event { writer << "3" }
    gives 3
  end

  row "Kernel#open", "of a command", until: "4.0" do
    reader, writer = blocking_pipe
    reader.close_on_exec = false
    # The row is about Kernel#open itself.
    inside do
      open("|read line <&#{reader.fileno}; echo $line", &:read) # rubocop:disable Security/Open
    end
    event { writer.puts("hello") }
    gives "hello\n"
  end

  # Standard output and error block their thread (they are shared with other processes), unlike the
  # pipes and sockets Ruby makes.
  def self.prints(name, variant, arrives, **options, &call)
    row name, variant, **options do
      reader, writer = IO.pipe
      full = fill(writer)
      writer.nonblock = false
      $stdout.reopen(writer)
      $stderr.reopen(writer)
      $stdout.sync = true
      arrived = +""
      inside { instance_exec(&call) }
      event { arrived << drain(reader, full) }
      gives do
        (arrived << drain(reader, full + arrives.bytesize - arrived.bytesize))
          .end_with?("x#{arrives}")
      end
    end
  end

  blocking = { "< 3.3.1" => "blocking_write" }
  prints("Kernel#puts", "a full standard output", "hello\n", cured: blocking) { puts("hello") }
  prints("Kernel#print", "a full standard output", "hello", cured: blocking) { print("hello") }
  prints("Kernel#p", "a full standard output", "7\n", cured: blocking) { p(7) }
  prints("Kernel#pp", "a full standard output", "7\n", cured: blocking) { pp(7) }
  prints("Kernel#printf", "a full standard output", "07", cured: blocking) { printf("%02d", 7) }
  prints("Kernel#putc", "a full standard output", "h", cured: blocking) { putc("h") }
  prints("Kernel#display", "a full standard output", "hello", cured: blocking) { "hello".display }
  prints("IO#write", "$stderr that is full", "hello", cured: blocking) { $stderr.write("hello") }

  row "Kernel#warn", "a full standard error", cured: { ">= 0" => "warn" } do
    reader, writer = IO.pipe
    full = fill(writer)
    writer.nonblock = false
    $stderr.reopen(writer)
    fork do # in the same process nothing could make it end
      sleep(0.2)
      reader.read(full) # no more: what warn writes is looked for below
      exit!(0)
    end
    inside { warn("hello") }
    elapses
    gives { Process.wait && reader.read_nonblock(100) == "hello\n" }
  end

  row "Kernel#require", "of a file that waits",
      blocks: { "< 3.2" => "a require that parks loses its fiber or crashes: Bug #18663; " \
                           "compat/require.rb makes it block" } do
    $reader, writer = IO.pipe
    path = file("$required = $reader.gets", name: "waits.rb")
    inside { require path }
    event { writer.puts("hello") }
    gives { |result| result && $required == "hello\n" }
  end

  row "Kernel#load", "of a file that waits",
      blocks: { "< 3.2" => "as require: Bug #18663; compat/require.rb makes it block" } do
    $reader, writer = IO.pipe
    path = file("$required = $reader.gets", name: "waits.rb")
    inside { load path }
    event { writer.puts("hello") }
    gives { |result| result && $required == "hello\n" }
  end

  row "Kernel#require_relative", "of a file that waits",
      blocks: { "< 3.2" => "as require: Bug #18663; compat/require.rb makes it block" } do
    $reader, writer = IO.pipe
    file("$required = $reader.gets", name: "waits.rb")
    caller = file(text = "require_relative 'waits'", name: "caller.rb")
    # The path is the caller's, hence `eval`.
    inside { eval(text, TOPLEVEL_BINDING, caller) } # rubocop:disable Security/Eval
    event { writer.puts("hello") }
    gives { |result| result && $required == "hello\n" }
  end

  row "Kernel#autoload", "of a file that waits, in two fibers",
      blocks: { "< 3.2" => "the second fiber gets a NameError: Bug #18663; " \
                           "compat/require.rb makes it block" } do
    $reader, writer = IO.pipe
    Object.autoload(:WaitsForIt, file("WaitsForIt = $reader.gets", name: "waits.rb"))
    other = nil
    companion { other = WaitsForIt }
    inside { WaitsForIt }
    event { writer.puts("hello") }
    gives { |result| result == "hello\n" && other == result }
  end

  row "Kernel#trap", "a signal's handler runs while its loop sleeps", also: %w[Signal.trap] do
    reader, writer = IO.pipe
    trap("USR1") { writer << "s" }
    inside { reader.read(1) }
    event { Process.kill("USR1", Process.pid) }
    gives "s"
  end
end
