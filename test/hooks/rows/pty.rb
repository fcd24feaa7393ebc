# frozen_string_literal: true

require "expect"
require "io/console"
require "io/wait"
require "pty"

HookTable.library "pty" do
  late = ["/bin/sh", "-c", "read line; echo \"got $line\""]
  # The end of a terminal's other side is an EIO (tty_ioctl(4)).
  rest = lambda do |terminal|
    text = +""
    loop { text << terminal.readpartial(4096) }
  rescue Errno::EIO
    text
  end

  row "PTY.spawn", "reading what the command prints", also: %w[PTY.getpty] do
    output, input, = PTY.spawn(*late)
    inside { rest.call(output) }
    event { input.puts("late") }
    gives { |text| text.include?("got late") }
  end

  row "PTY.spawn", "made inside, with a block" do
    path = fifo
    gate = File.open(path, File::RDWR)
    command = "read line < #{path}; echo \"got $line\""
    inside do
      text = []
      PTY.spawn("/bin/sh", "-c", command) { |output, _, _| text << rest.call(output) }
      text.first
    end
    event { gate.write_nonblock("late\n") }
    gives { |text| text.include?("got late") }
  end

  row "PTY.spawn", "waiting for its process" do
    _output, input, pid = PTY.spawn("/bin/sh", "-c", "read line; exit 3")
    inside { Process.wait2(pid).last.exitstatus }
    event { input.puts("late") }
    gives 3
  end

  {
    "IO#gets" => [->(io) { io.gets }, "late\n"],
    "IO#readpartial" => [->(io) { io.readpartial(100) }, "late\n"],
    "IO#getc" => [->(io) { io.getc }, "l"],
    "IO#read" => [->(io) { io.read(5) }, "late\n"]
  }.each do |name, (call, value)|
    row name, "a terminal's slave" do
      master, slave = PTY.open
      inside { call.call(slave) }
      event { master.write("late\n") }
      gives value
    end
  end

  row "IO#gets", "a terminal's master" do
    master, slave = PTY.open
    slave.raw!
    inside { master.gets }
    event { slave.write("late\n") }
    gives "late\n"
  end

  row "IO#write", "a terminal whose other side does not read" do
    master, slave = PTY.open
    slave.raw!
    bytes = fill(slave)
    # The kernel moves it on by itself for a while.
    bytes += fill(slave) while slave.wait_writable(0.1)
    inside { slave.write("late") }
    event { drain(master, bytes) }
    gives 4
  end
end

HookTable.library "expect" do
  selects = { "< 3.2" => "io_select" }

  row "IO#expect", cured: selects do
    reader, writer = IO.pipe
    inside { reader.expect(/l(in)e/) }
    event { writer.write("half") }
    event { writer.write("line") }
    gives %w[halfline in]
  end

  row "IO#expect", "of a terminal, with a limit", cured: selects do
    output, input, = PTY.spawn("/bin/sh", "-c", "read line; echo \"got $line\"")
    inside { output.expect(/got (\w+)\r/, 10)&.last }
    event { input.puts("late") }
    gives "late"
  end

  row "IO#expect", "no match in time", cured: selects do
    reader, writer = IO.pipe
    writer.write("half")
    inside { reader.expect("line", 0.3) }
    elapses
    gives nil
  end
end

HookTable.library "io/console" do
  {
    "getch" => [->(io) { io.getch }, "l"],
    "getpass" => [->(io) { io.getpass("") }, "late"],
    "raw" => [->(io) { io.raw { |raw| raw.readpartial(4) } }, "late"],
    "cooked" => [->(io) { io.cooked(&:gets) }, "late\n"],
    "noecho" => [->(io) { io.noecho(&:gets) }, "late\n"]
  }.each do |name, (call, value)|
    row "IO##{name}" do
      master, slave = PTY.open
      terminal = File.open(slave.path, "r+", File::NOCTTY)
      inside { call.call(terminal) }
      event { master.write("late\n") }
      gives value
    end
  end

  row "IO#getch", "with min and time" do
    master, slave = PTY.open
    inside { slave.getch(min: 0, time: 5) }
    event { master.write("late\n") }
    gives "l"
  end

  row "IO#cursor" do
    master, slave = PTY.open
    inside { slave.cursor }
    event { master.write("\e[3;5R") }
    gives [2, 4]
  end
end
