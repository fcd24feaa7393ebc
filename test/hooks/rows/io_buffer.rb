# frozen_string_literal: true

HookTable.library "IO::Buffer" do
  row "IO::Buffer#read" do
    reader, writer = IO.pipe
    buffer = IO::Buffer.new(8)
    inside { buffer.read(reader, 8) && buffer.get_string(0, 8) }
    event { writer << "half" }
    event { writer << "full" }
    gives "halffull"
  end

  row "IO::Buffer#write", since: "3.3" do
    reader, writer = IO.pipe
    full = fill(writer)
    buffer = IO::Buffer.for("hello")
    arrived = +""
    inside { buffer.write(writer, 5) }
    event { arrived << drain(reader, full) }
    gives do |bytes|
      bytes == 5 && (arrived << drain(reader, full + 5 - arrived.bytesize)).end_with?("hello")
    end
  end

  %i[pread pwrite].each do |name|
    row "IO::Buffer##{name}", "a slow disk" do
      io = File.open(File.join(slow_disk(name == :pread ? :read : :write), "text"), "r+")
      buffer = IO::Buffer.new(4)
      inside do
        if RUBY_VERSION < "3.2"
          buffer.public_send(name, io, 4, 1)
        else
          buffer.public_send(name, io, 1, 4)
        end
      end
      elapses { disk_keeps? }
      gives 4
    end
  end
end
