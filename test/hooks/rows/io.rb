# frozen_string_literal: true

# Reading, writing and waiting on pipes. What waits for a disk is in file.rb.

HookTable.library "IO" do
  # A call that reads: the event writes `text` to the other end of a pipe, in parts when there are
  # several.
  def self.reads(name, *parts, variant: nil, close: false, gives: parts.join, **options, &call)
    row name, variant, **options do
      reader, writer = IO.pipe
      inside { instance_exec(reader, &call) }
      parts.each { |part| event { writer << part } }
      event { writer.close } if close
      gives gives
    end
  end

  # A call that writes to a full pipe: the event reads from the other end. What the call leaves
  # behind has to have arrived.
  def self.writes(name, text, gives: nil, variant: nil, **options, &call)
    row name, variant, **options do
      reader, writer = IO.pipe
      full = fill(writer)
      arrived = +""
      inside { [instance_exec(writer, &call), writer].first }
      event { arrived << drain(reader, full) }
      gives do |result|
        arrived << drain(reader, text.bytesize) while arrived.bytesize < full + text.bytesize
        arrived.end_with?(text) && (gives.nil? || result == gives)
      end
    end
  end

  reads("IO#read", "half", "full") { |io| io.read(8) }
  reads("IO#read", "some", " more", variant: "to the end", close: true) { |io| io.read }
  reads("IO#readpartial", "a part") { |io| io.readpartial(100) }
  reads("IO#sysread", "a part") { |io| io.sysread(100) }
  reads("IO#gets", "half a", " line\nand", gives: "half a line\n") { |io| io.gets }
  reads("IO#readline", "a line\n") { |io| io.readline }
  reads("IO#readlines", "one\n", "two\n", close: true, gives: %W[one\n two\n]) { |io| io.readlines }
  reads("IO#each_line", "one\n", "two\n", close: true, gives: %W[one\n two\n],
        also: "IO#each") { |io| io.each_line.to_a }
  reads("IO#each_byte", "a", "b", close: true, gives: [97, 98]) { |io| io.each_byte.to_a }
  reads("IO#each_char", "\u00e4", "b", close: true, gives: %W[\u00e4 b]) { |io| io.each_char.to_a }
  reads("IO#getc", "\u00e4") { |io| io.set_encoding("UTF-8").getc }
  reads("IO#getbyte", "a", gives: 97) { |io| io.getbyte }
  reads("IO#readchar", "a") { |io| io.readchar }
  reads("IO#readbyte", "a", gives: 97) { |io| io.readbyte }
  reads("IO#eof?", "a", gives: false, also: "IO#eof") { |io| io.eof? }
  reads("IO#eof?", variant: "at the end", close: true, gives: true) { |io| io.eof? }
  reads("IO#wait_readable", "a", gives: true) { |io| io.wait_readable.equal?(io) }
  reads("IO#wait_readable", "a", variant: "within a time", gives: true) do |io|
    io.wait_readable(60).equal?(io)
  end
  reads("IO#wait", "a", gives: true) { |io| io.wait.equal?(io) }
  reads("IO#wait", "a", variant: "for events", gives: true) do |io|
    [io, IO::READABLE].include?(io.wait(IO::READABLE, 60))
  end
  reads("IO#read_nonblock", "soon", variant: "and wait_readable") do |io|
    io.read_nonblock(4)
  rescue IO::WaitReadable
    io.wait_readable
    retry
  end

  writes("IO#write", "hello", gives: 5) { |io| io.write("hello") }
  writes("IO#write", "ab", variant: "of several strings", gives: 2) { |io| io.write("a", "b") }
  writes("IO#<<", "hello") { |io| io << "hello" }
  writes("IO#print", "hello") { |io| io.print("hello") }
  writes("IO#puts", "hello\n") { |io| io.puts("hello") }
  writes("IO#printf", "n=07") { |io| io.printf("n=%02d", 7) }
  writes("IO#putc", "h") { |io| io.putc("h") }
  writes("IO#syswrite", "hello", gives: 5) { |io| io.syswrite("hello") }
  writes("IO#flush", "hello") do |io|
    io.sync = false
    io << "hello"
    io.flush
  end
  writes("IO#close", "hello", variant: "with text to be written") do |io|
    io.sync = false
    io << "hello"
    io.close
  end
  writes("IO#wait_writable", "hello") { |io| io.wait_writable.write_nonblock("hello") }
  writes("IO#write_nonblock", "hello", variant: "and wait_writable") do |io|
    io.write_nonblock("hello")
  rescue IO::WaitWritable
    io.wait_writable
    retry
  end

  row "IO#wait_priority" do
    client, peer = tcp_pair
    inside { client.wait_priority(60).equal?(client) && client.recv(1, Socket::MSG_OOB) }
    event { peer.send("!", Socket::MSG_OOB) }
    gives "!"
  end

  row "IO#wait_readable", "until the time is over" do
    reader, @writer = IO.pipe
    inside { reader.wait_readable(0.2) }
    elapses
    gives nil
  end

  row "IO#timeout=", "a read that takes longer", since: "3.2" do
    reader, @writer = IO.pipe
    reader.timeout = 0.2
    inside { reader.read(1) }
    elapses
    raises IO::TimeoutError
  end

  row "IO#wait_readable", "of an IO that is closed meanwhile" do
    reader, @writer = IO.pipe
    inside { reader.wait_readable }
    event { reader.close }
    raises IOError
  end

  row "IO#reopen", "with text to be written" do
    reader, writer = IO.pipe
    full = fill(writer)
    writer.sync = false
    writer << "hello"
    arrived = +""
    inside { writer.reopen(File::NULL, "w") }
    event { arrived << drain(reader, full) }
    gives { (arrived << reader.read).end_with?("xhello") }
  end

  row "IO.pipe", "both ends in fibers of one loop" do
    reader, writer = IO.pipe
    gate = Thread::Queue.new
    companion { writer << gate.pop }
    inside { reader.read(5) }
    event { gate << "hello" }
    gives "hello"
  end

  row "IO.copy_stream", "from a pipe to a pipe" do
    reader, writer = IO.pipe
    target, into = IO.pipe
    inside { IO.copy_stream(reader, into) }
    event { writer << "half" }
    event { (writer << "full").close }
    gives { |bytes| bytes == 8 && target.read_nonblock(100) == "halffull" }
  end

  row "IO.copy_stream", "into a full pipe" do
    reader, writer = IO.pipe
    source, from = IO.pipe
    (from << "hello").close
    full = fill(writer)
    arrived = +""
    inside { IO.copy_stream(source, writer) }
    event { arrived << drain(reader, full) }
    gives { |bytes| bytes == 5 && (arrived << drain(reader)).end_with?("hello") }
  end

  row "IO.copy_stream", "from a file into a full socket (sendfile)" do
    client, peer = UNIXSocket.pair
    source = File.open(file("hello"))
    full = fill(client)
    arrived = +""
    inside { IO.copy_stream(source, client) }
    event { arrived << drain(peer, full) }
    gives do |bytes|
      bytes == 5 && (arrived << drain(peer, full + 5 - arrived.bytesize)).end_with?("hello")
    end
  end

  row "IO.copy_stream", "from a socket to a file" do
    client, peer = tcp_pair
    inside { IO.copy_stream(client, path, 8) }
    event { peer << "half" }
    event { peer << "full" }
    gives { |bytes| bytes == 8 && File.read(path) == "halffull" }
  end

  row "IO.copy_stream", "from an object with readpartial to one with write" do
    reader, writer = IO.pipe
    source = Struct.new(:io) do
      def readpartial(*arguments) = io.readpartial(*arguments)
    end.new(reader)
    target = Struct.new(:text) { def write(part) = (text << part).then { part.bytesize } }.new(+"")
    inside { IO.copy_stream(source, target) && target.text }
    event { writer << "half" }
    event { (writer << "full").close }
    gives "halffull"
  end

  row "IO.popen", "and read" do
    words, options, gate = waiting_command
    inside { IO.popen(words, **options).read }
    event { gate.puts("hello") }
    gives "hello\n"
  end

  row "IO.popen", "with a block" do
    words, options, gate = waiting_command
    inside { IO.popen(words, **options, &:read) + $?.exitstatus.to_s }
    event { gate.puts("hello") }
    gives "hello\n3"
  end

  row "IO#close", "of IO.popen: the process has to end" do
    words, options, gate = waiting_command
    inside { IO.popen(words, **options).close || $?.exitstatus || $?.termsig }
    event { gate.puts }
    gives { |status| [3, Signal.list["PIPE"]].include?(status) } # its echo finds nobody
  end

  row "IO#read", "of a pipe whose descriptor is blocking" do
    reader, writer = blocking_pipe
    inside { reader.read(4) }
    event { writer << "data" }
    gives "data"
  end

  row "IO#write", "to a full pipe whose descriptor is blocking",
      cured: { "< 3.3.1" => "blocking_write" } do
    reader, writer = IO.pipe
    full = fill(writer)
    writer.nonblock = false # what #fill has set
    arrived = +""
    inside { writer.write("hello") }
    event { arrived << drain(reader, full) }
    gives do |bytes|
      bytes == 5 && (arrived << drain(reader, full + 5 - arrived.bytesize)).end_with?("hello")
    end
  end

  row "IO#write", "more than a pipe holds, whose descriptor is blocking",
      cured: { "< 3.3.1" => "blocking_write" } do
    reader, writer = blocking_pipe
    text = "x" * 1_000_000
    arrived = +""
    inside { writer.write(text) }
    event { arrived << drain(reader, 1_000_000) }
    gives { |bytes| bytes == 1_000_000 && arrived == text }
  end

  row "IO#read", "of a terminal" do
    require "pty"
    terminal, slave = PTY.open
    inside { slave.gets }
    event { terminal.puts("typed") }
    gives "typed\n"
  end

  row "IO#raw", "and getch", also: %w[IO#getch] do
    require "pty"
    require "io/console"
    terminal, slave = PTY.open
    inside { slave.getch }
    event { terminal << "t" }
    gives "t"
  end

  row "IO#fcntl", "F_SETLKW: a lock of another process",
      blocks: "the request is the caller's and nothing says that it waits: io.c, rb_fcntl" do
    setlkw = 7
    region = [1, 0, 0, 0, 0].pack("s!s!x4q!q!ix4")
    held, holding = IO.pipe
    gate, release = IO.pipe
    file = File.open(file("x"), "r+")
    fork do
      [held, release].each(&:close)
      File.open(path, "r+") { |own| own.fcntl(setlkw, region) && (holding << "!") && gate.read(1) }
      exit!(0)
    end
    held.read(1)
    inside { file.fcntl(setlkw, region) }
    event { release << "!" }
    gives 0
  end
end
