# frozen_string_literal: true

# Files, folders and what is written in them. The disk is one that takes its time (SlowDisk). No
# Ruby has a hook for it, and no kernel tells when a file is ready: poll(2) says that regular files
# always are.

HookTable.library "File" do
  disk = "no hook: the system call is made here, with or without Ruby's lock: file.c, io.c"
  writing = { "< 3.3.1" => "the system call is made here, without the hook io_write: Bug #19546; " \
                           "io.c, internal_write_func" }
  flushing = "no hook before Ruby 4.0 (Bug #21789): io.c, io_flush_buffer"
  # Ruby 3.3 reads code by io_read and Ruby 3.4 maps it. On Ruby 3.1 compat/require.rb keeps the
  # thread (Bug #18663).
  loading = { "< 3.3" => "#{disk}; load.c", ">= 3.4" => "#{disk}; load.c" }
  # From 3.4 on calls that can do without Ruby's lock are offered to blocking_operation_wait.
  before34 = { "< 3.4" => "#{disk}; blocking_operation_wait is Ruby 3.4's: Feature #20876" }
  elsewhere = { "< 3.4" => "slow_files" }
  always = { ">= 0" => "slow_files" }

  # @param request [Symbol] what the disk takes its time for
  def self.disk(name, variant = nil, request: :lookup, gives: nil, **options, &call)
    check = gives
    row name, variant, **options do
      folder = slow_disk(request)
      inside { instance_exec(folder, &call) }
      elapses { disk_keeps? }
      gives(*[check].compact)
    end
  end

  # The same with a file that is open already.
  def self.open_disk(name, variant = nil, request:, mode: "r", gives: nil, **options, &call)
    check = gives
    row name, variant, **options do
      file = File.open(File.join(slow_disk(request), "text"), mode)
      inside { instance_exec(file, &call) }
      elapses { disk_keeps? }
      gives(*[check].compact)
    end
  end

  disk("File.open", "a slow disk", request: :open, cured: elsewhere,
       also: %w[File.new IO.open IO.new Kernel#open]) do |folder|
    File.open("#{folder}/text").close
  end
  disk("IO.sysopen", "a slow disk", request: :open, cured: elsewhere) do |folder|
    IO.sysopen("#{folder}/text")
  end
  disk("File.read", "a slow disk", request: :read, gives: "hello\n",
       also: %w[IO.read IO.binread]) do |folder|
    File.read("#{folder}/text")
  end
  disk("IO.readlines", "a slow disk", request: :read, gives: ["hello\n"]) do |folder|
    File.readlines("#{folder}/text")
  end
  disk("IO.foreach", "a slow disk", request: :read, gives: ["hello\n"]) do |folder|
    File.foreach("#{folder}/text").to_a
  end
  disk("File.write", "a slow disk", request: :write, gives: 5, cured: always,
       also: %w[IO.write IO.binwrite]) do |folder|
    File.write("#{folder}/text", "hello")
  end
  disk("IO.copy_stream", "from a slow disk", request: :read, gives: 6, cured: elsewhere) do |folder|
    IO.copy_stream("#{folder}/text", path("copy"))
  end
  disk("IO.copy_stream", "to a slow disk", request: :write, gives: 5, cured: elsewhere) do |folder|
    IO.copy_stream(file("hello"), "#{folder}/text")
  end
  open_disk("IO#read", "a slow disk", request: :read, gives: "hello\n", &:read)
  open_disk("IO#gets", "a slow disk", request: :read, gives: "hello\n", &:gets)
  open_disk("IO#sysread", "a slow disk", request: :read, gives: "hello\n") do |io|
    io.sysread(2) + io.sysread(100)
  end
  open_disk("IO#pread", "a slow disk", request: :read, gives: "ello",
            cured: { "< 3.3" => "pwrite" }) { |io| io.pread(4, 1) }
  open_disk("IO#write", "a slow disk", request: :write, mode: "r+", gives: 5,
            blocks: writing) do |io|
    io.tap { io.sync = true }.write("hello")
  end
  open_disk("IO#write", "appending, a slow disk", request: :write, mode: "a", gives: [5, 11],
            blocks: writing) do |io|
    [io.tap { io.sync = true }.write("hello"), io.pos]
  end
  open_disk("IO#syswrite", "a slow disk", request: :write, mode: "r+", gives: 5,
            blocks: writing) { |io| io.syswrite("hello") }
  open_disk("IO#pwrite", "a slow disk", request: :write, mode: "r+", gives: 4,
            cured: { "< 3.3" => "pwrite" }) { |io| io.pwrite("ello", 1) }
  open_disk("IO#flush", "a slow disk", request: :write, mode: "r+", blocks: flushing) do |io|
    (io << "hello").flush
  end
  open_disk("IO#close", "a slow disk", request: :flush, blocks: disk, &:close)
  open_disk("IO#fsync", "a slow disk", request: :fsync, gives: 0, cured: always, &:fsync)
  open_disk("IO#fdatasync", "a slow disk", request: :fsync, gives: 0, cured: always, &:fdatasync)
  open_disk("IO#stat", "a slow disk", request: :getattr, blocks: disk,
            also: %w[File#lstat File#size File#atime File#mtime File#ctime File#birthtime]) do |io|
    io.stat.size
  end
  open_disk("IO#seek", "from the end, a slow disk", request: :getattr, blocks: disk,
            also: %w[IO#sysseek]) { |io| io.seek(0, IO::SEEK_END) }
  open_disk("File#truncate", "a slow disk", request: :setattr, mode: "r+", gives: 0,
            cured: always) { |file| file.truncate(3) }
  open_disk("File#chmod", "a slow disk", request: :setattr, gives: 0, blocks: disk) do |file|
    file.chmod(0o600)
  end
  open_disk("File#chown", "a slow disk", request: :setattr, gives: 0, blocks: before34) do |file|
    file.chown(0, 0)
  end
  disk("File.stat", "a slow disk", cured: elsewhere) { |folder| File.stat("#{folder}/text") }
  disk("File.lstat", "a slow disk", cured: elsewhere) { |folder| File.lstat("#{folder}/text") }
  predicates = %w[
    blockdev? chardev? directory? empty? exist? file? grpowned? identical? owned? pipe? setgid?
    setuid? size size? socket? sticky? symlink? zero? atime mtime ctime birthtime ftype
    world_readable? world_writable?
  ]
  disk("File.file?", "a slow disk", gives: true, cured: elsewhere,
       also: predicates.map { |name| "File.#{name}" } + ["Kernel#test"]) do |folder|
    File.file?("#{folder}/text")
  end
  rights = %w[
    File.writable? File.executable? File.readable_real? File.writable_real? File.executable_real?
  ]
  disk("File.readable?", "a slow disk", gives: true, cured: elsewhere, also: rights) do |folder|
    File.readable?("#{folder}/text")
  end
  disk("File::Stat.new", "a slow disk", blocks: disk) { |folder| File::Stat.new("#{folder}/text") }
  disk("File.realpath", "a slow disk", blocks: disk, also: "File.realdirpath") do |folder|
    File.realpath("#{folder}/text")
  end
  disk("File.readlink", "a slow disk", request: :readlink, gives: "text",
       cured: elsewhere) do |folder|
    File.readlink("#{folder}/symlink")
  end
  disk("File.rename", "a slow disk", request: :rename, gives: 0, cured: elsewhere) do |folder|
    File.rename("#{folder}/text", "#{folder}/new")
  end
  disk("File.link", "a slow disk", request: :link, gives: 0, blocks: disk) do |folder|
    File.link("#{folder}/text", "#{folder}/new")
  end
  disk("File.symlink", "a slow disk", request: :symlink, gives: 0, blocks: disk) do |folder|
    File.symlink("text", "#{folder}/new")
  end
  disk("File.unlink", "a slow disk", request: :unlink, gives: 1, cured: elsewhere,
       also: "File.delete") do |folder|
    File.unlink("#{folder}/text")
  end
  disk("File.mkfifo", "a slow disk", request: :mknod, gives: 0, cured: elsewhere) do |folder|
    File.mkfifo("#{folder}/new")
  end
  disk("File.truncate", "a slow disk", request: :setattr, gives: 0, cured: elsewhere) do |folder|
    File.truncate("#{folder}/text", 3)
  end
  disk("File.chmod", "a slow disk", request: :setattr, gives: 1, cured: elsewhere,
       also: "File.lchmod") do |folder|
    File.chmod(0o600, "#{folder}/text")
  end
  disk("File.chown", "a slow disk", request: :setattr, gives: 1, cured: elsewhere,
       also: "File.lchown") do |folder|
    File.chown(0, 0, "#{folder}/text")
  end
  disk("File.utime", "a slow disk", request: :setattr, gives: 1, cured: elsewhere,
       also: "File.lutime") do |folder|
    File.utime(0, 0, "#{folder}/text")
  end
  disk("Kernel#require", "from a slow disk", request: :read, gives: true,
       blocks: loading) { |folder| require "#{folder}/code.rb" }
  disk("Kernel#load", "from a slow disk", request: :read, gives: true, blocks: loading) do |folder|
    load "#{folder}/code.rb"
  end

  row "File#flock", "held by another", cured: { ">= 0" => "flock" } do
    file = File.open(file("x"))
    holder = File.open(path)
    holder.flock(File::LOCK_EX)
    inside { file.flock(File::LOCK_EX) }
    event { holder.flock(File::LOCK_UN) }
    gives 0
  end

  row "File#flock", "LOCK_NB in turns" do
    file = File.open(file("x"))
    holder = File.open(path)
    holder.flock(File::LOCK_EX)
    inside { (sleep(0.001) until file.flock(File::LOCK_EX | File::LOCK_NB)) || 0 }
    event { holder.flock(File::LOCK_UN) }
    gives 0
  end
end

HookTable.library "FIFOs" do
  open = { "< 3.4" => "fifo" }

  row "File.open", "a FIFO nobody writes to", cured: open do
    pipe = fifo
    inside { File.open(pipe, &:read) }
    event { Thread.new { File.write(path("fifo"), "hello") }.join }
    gives "hello"
  end

  row "File.open", "a FIFO nobody reads", cured: open do
    reader = nil
    pipe = fifo
    inside { File.open(pipe, "w") { |io| io.write("hello") } }
    event { reader = File.open(path("fifo"), File::RDONLY | File::NONBLOCK) }
    gives { |bytes| bytes == 5 && reader.read_nonblock(100) == "hello" }
  end

  row "File.read", "a FIFO nobody writes to", cured: open do
    pipe = fifo
    inside { File.read(pipe) }
    event { Thread.new { File.write(path("fifo"), "hello") }.join }
    gives "hello"
  end

  row "File.write", "a FIFO nobody reads", cured: open do
    reader = nil
    pipe = fifo
    inside { File.write(pipe, "hello") }
    event { reader = File.open(path("fifo"), File::RDONLY | File::NONBLOCK) }
    gives { |bytes| bytes == 5 && reader.read_nonblock(100) == "hello" }
  end

  row "IO#read", "a FIFO that is open" do
    reader = File.open(fifo, File::RDWR)
    reader.nonblock = false
    inside { reader.read(5) }
    event { reader.syswrite("hello") }
    gives "hello"
  end

  row "IO.copy_stream", "from a FIFO that is open" do
    fifo
    reader = File.open(path("fifo"), File::RDONLY | File::NONBLOCK)
    writer = File.open(path("fifo"), "w")
    inside { IO.copy_stream(reader, path("copy")) }
    event { (writer << "hello").close }
    gives 5
  end
end
