# frozen_string_literal: true

# The rest of the standard library, as far as it waits: what reads from an IO it is given, what
# locks, what asks another process.

require "digest"
require "fileutils"
require "json"
require "pstore"
require "socket"
require "timeout"
require "yaml"
require "zlib"
require "hooks/services/bundled"
require "hooks/services/holding"

HookTable.library "csv" do
  {
    "CSV#shift" => [->(csv) { csv.shift }, %w[a late]],
    "CSV#each" => [->(csv) { csv.each.first }, %w[a late]],
    "CSV#read" => [->(csv) { csv.read }, [%w[a late]]]
  }.each do |name, (call, value)|
    row name, "from a pipe" do
      HookServices::Bundled.require("csv", gem: "csv")
      reader, writer = IO.pipe
      inside { call.call(CSV.new(reader)) }
      event { writer.write("a,") }
      event { writer.tap { writer.write("late\n") }.close }
      gives value
    end
  end

  row "CSV#<<", "to a full pipe" do
    HookServices::Bundled.require("csv", gem: "csv")
    reader, writer = IO.pipe
    bytes = fill(writer)
    writer.sync = true
    inside { (CSV.new(writer) << %w[a late]) && true }
    event { drain(reader, bytes) }
    gives { drain(reader, 7) == "a,late\n" }
  end
end

{
  "json" => ["JSON", '{"a":', "1}", { "a" => 1 }],
  "yaml" => ["YAML", "a", ": 1\n", { "a" => 1 }]
}.each do |library, (name, first, second, value)|
  HookTable.library library do
    row "#{name}.load", "from a pipe" do
      reader, writer = IO.pipe
      inside { Object.const_get(name).load(reader) }
      event { writer.write(first) }
      event { writer.tap { writer.write(second) }.close }
      gives value
    end

    row "#{name}.dump", "to a full pipe" do
      reader, writer = IO.pipe
      bytes = fill(writer)
      writer.sync = true
      inside { Object.const_get(name).dump({ "a" => 1 }, writer) && true }
      event { drain(reader, bytes) }
      gives { Object.const_get(name).load(drain(reader)) == { "a" => 1 } }
    end
  end
end

HookTable.library "Marshal" do
  row "Marshal.load", "from a pipe" do
    reader, writer = IO.pipe
    text = Marshal.dump(%w[some text])
    inside { Marshal.load(reader) } # rubocop:disable Security/MarshalLoad -- the row
    event { writer.write(text[0, 5]) }
    event { writer.write(text[5..]) }
    gives %w[some text]
  end

  row "Marshal.dump", "to a full pipe" do
    reader, writer = IO.pipe
    bytes = fill(writer)
    writer.sync = true
    inside { Marshal.dump(%w[some text], writer) && true }
    event { drain(reader, bytes) }
    gives { drain(reader) == Marshal.dump(%w[some text]) }
  end
end

HookTable.library "zlib" do
  zipped = Zlib.gzip("first line\nsecond line\n")

  {
    "read" => [->(gz) { gz.read }, "first line\nsecond line\n"],
    "gets" => [->(gz) { gz.gets }, "first line\n"],
    "readpartial" => [->(gz) { gz.readpartial(5) }, "first"],
    "each_line" => [->(gz) { gz.each_line.to_a }, ["first line\n", "second line\n"]]
  }.each do |name, (call, value)|
    row "Zlib::GzipReader##{name}", "from a pipe" do
      reader, writer = IO.pipe
      inside { call.call(Zlib::GzipReader.new(reader)) }
      event { writer.write(zipped[0, 8]) }
      event { writer.tap { writer.write(zipped[8..]) }.close }
      gives value
    end
  end

  {
    "write" => ->(gz) { gz.write("text").tap { gz.flush } },
    "close" => ->(gz) { gz.write("text").tap { gz.close } }
  }.each do |name, call|
    row "Zlib::GzipWriter##{name}", "to a full pipe" do
      reader, writer = IO.pipe
      bytes = fill(writer)
      writer.sync = true
      inside { call.call(Zlib::GzipWriter.new(writer)) }
      event { drain(reader, bytes) }
      gives { |size| size == 4 && Zlib::GzipReader.new(reader).readpartial(4) == "text" }
    end
  end

  big = 64 << 20
  {
    "Zlib::Deflate#deflate" => ->(_) {
      Zlib::Deflate.new.deflate(" " * big, Zlib::FINISH).bytesize < 1 << 20
    },
    "Zlib::Inflate#inflate" => ->(small) {
      Zlib::Inflate.new.inflate(small).bytesize == big
    }
  }.each do |name, call|
    row name, "long work, as a blocking operation", since: "3.4" do
      # The only thread is given to it by the event. On a machine that is busy enough the work
      # would otherwise be done before B has had its turns.
      small = Zlib.deflate(" " * big)
      gate = Thread::Queue.new
      NeverBlock.offload_threads = 1
      companion { NeverBlock.offload { gate.pop } }
      inside { call.call(small) }
      event { gate << true }
      gives true
    end
  end
end

HookTable.library "fileutils" do
  row "FileUtils.copy_file", "of a FIFO", cured: { "< 3.4" => "copy_stream" } do
    from = fifo
    gate = File.open(from, File::RDWR)
    writer = File.open(from, File::WRONLY)
    inside { FileUtils.copy_file(from, path("copy")).then { File.read(path("copy")) } }
    reached { descriptors_of(from) == 3 }
    event { gate.close }
    event { writer.tap { writer.write("late") }.close }
    gives "late"
  end

  row "FileUtils.copy_stream" do
    reader, writer = IO.pipe
    taker, giver = IO.pipe
    inside { FileUtils.copy_stream(reader, giver).then { taker.read_nonblock(100) } }
    event { writer.write("first,") }
    event { writer.tap { writer.write("second") }.close }
    gives "first,second"
  end

  row "FileUtils.copy_stream", "to a full FIFO", cured: { ">= 0" => "copy_stream" } do
    gate = File.open(fifo, File::RDWR)
    bytes = fill(gate)
    target = File.open(path("fifo"), File::WRONLY)
    inside { FileUtils.copy_stream(StringIO.new("late"), target) }
    event { drain(gate, bytes) }
    gives { drain(gate) == "late" }
  end

  row "FileUtils.compare_stream" do
    reader, writer = IO.pipe
    inside { FileUtils.compare_stream(reader, StringIO.new("first,second")) }
    event { writer.write("first,") }
    event { writer.tap { writer.write("second") }.close }
    gives true
  end
end

HookTable.library "digest" do
  row "Digest::Instance#file", "of a FIFO" do
    from = fifo
    gate = File.open(from, File::RDWR)
    writer = File.open(from, File::WRONLY)
    inside { Digest::SHA256.file(from).hexdigest }
    reached { descriptors_of(from) == 3 }
    event { gate.close }
    event { writer.tap { writer.write("late") }.close }
    gives Digest::SHA256.hexdigest("late")
  end
end

HookTable.library "pstore" do
  {
    "for both" => [false, File::LOCK_SH],
    "for reading" => [true, File::LOCK_EX]
  }.each do |variant, (read_only, held)|
    row "PStore#transaction", variant, cured: { ">= 0" => "flock" } do
      store = PStore.new(path("store"))
      store.transaction { store[:a] = 1 }
      holder = File.open(path("store")).tap { |lock| lock.flock(held) }
      flocks = count_flocks
      inside { store.transaction(read_only) { store.fetch(:a) } }
      reached { flocks.call == 1 }
      event { holder.flock(File::LOCK_UN) }
      gives 1
    end
  end

  row "PStore#transaction", "while another fiber of the loop is in one",
      cured: { ">= 0" => "flock" } do
    reader, writer = IO.pipe
    flocks = count_flocks
    companion do
      PStore.new(path("store")).tap { |store| store.transaction { store[:a] = reader.gets } }
    end
    inside do
      sleep(0.001) until flocks.call == 1
      PStore.new(path("store")).then { |store| store.transaction { store.fetch(:a) } }
    end
    reached { flocks.call == 2 }
    event { writer.puts("late") }
    gives "late\n"
  end
end

HookTable.library "drb" do
  # A process that serves an object; it prints its address and answers when a line comes.
  serve = lambda do |stage|
    HookServices::Bundled.require("drb", gem: "drb")
    address, gate = IO.pipe, IO.pipe
    fork do
      gate.last.close
      front = Object.new.tap do |object|
        object.define_singleton_method(:ask) do |text, &block|
          block ? block.call(gate.first.gets) : text + gate.first.gets
        end
      end
      address.last.puts(DRb.start_service("druby://127.0.0.1:0", front).uri)
      DRb.thread.join
    end
    stage.instance_eval { event { gate.last.puts("late") } }
    DRbObject.new_with_uri(address.first.gets.chomp)
  end

  row "DRb::DRbObject#method_missing" do
    remote = serve.call(self)
    inside { remote.ask("so ") }
    gives "so late\n"
  end

  row "DRb::DRbObject#method_missing", "that calls back" do
    remote = serve.call(self)
    DRb.start_service("druby://127.0.0.1:0")
    inside { remote.ask("") { |text| text.upcase } }
    gives "LATE\n"
  end

  row "DRb::DRbServer#stop_service" do
    HookServices::Bundled.require("drb", gem: "drb")
    server = DRb.start_service("druby://127.0.0.1:0", Object.new)
    thread = server.thread
    gate = Thread::Queue.new
    thread_group = other_thread { gate.pop && server.stop_service }
    inside { thread.join.equal?(thread) }
    event { gate << true }
    gives { |joined| joined && thread_group.join(60) }
  end
end

HookTable.library "monitor" do
  row "MonitorMixin::ConditionVariable#wait", "signalled by a thread" do
    require "monitor"
    monitor = Monitor.new
    condition = monitor.new_cond
    ready = false
    gate = Thread::Queue.new
    other_thread do
      gate.pop
      monitor.synchronize do
        ready = true
        condition.signal
      end
    end
    inside { monitor.synchronize { condition.wait_until { ready } || ready } }
    event { gate << true }
    gives true
  end
end

HookTable.library "socket" do
  row "Socket.tcp", "resolv_timeout and connect_timeout" do
    service = holding(HookServices::FullBacklog.new)
    inside do
      Socket.tcp("localhost", service.port, resolv_timeout: 60, connect_timeout: 60) do |socket|
        socket.print("GET /a HTTP/1.0\r\n\r\n") || socket.gets
      end
    end
    gives { |line| line.start_with?("HTTP/1.1 200") }
  end

  row "Socket.tcp", "connect_timeout over" do
    service = HookServices::FullBacklog.new
    reached { service.reached? }
    inside { Socket.tcp("localhost", service.port, connect_timeout: 0.5) }
    elapses
    raises SystemCallError
  end
end

HookTable.library "timeout" do
  row "Timeout.timeout", "around a read" do
    reader, = IO.pipe
    inside { Timeout.timeout(0.3, HookServices::Late) { reader.read } }
    elapses
    raises HookServices::Late
  end
end
