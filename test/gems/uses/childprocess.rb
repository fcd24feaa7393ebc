# frozen_string_literal: true

Gems.use "childprocess" do
  requires "childprocess"
  answer do |id|
    reader, writer = IO.pipe
    child = ChildProcess.build("sh", "-c", "read line; echo got $line; exit 3")
    child.duplex = true
    child.io.stdout = writer
    child.start
    writer.close
    child.io.stdin.puts(id)
    child.io.stdin.close
    long = ChildProcess.build("sleep", "60").start
    [reader.read, child.wait, long.alive?, long.stop && long.exited?].tap { reader.close }
  end
end
