# frozen_string_literal: true

require "open3"

HookTable.library "open3" do
  # A command that runs until a line comes through the FIFO, and then prints it.
  late = ->(path) {
    ["/bin/sh", "-c", "read line < \"$0\"; echo \"$line\"; echo error >&2; exit 3", path]
  }
  # The FIFO, open for both, so that neither side waits for the other to open it.
  gate = ->(path) { File.open(path, File::RDWR) }

  {
    "capture2" => [->(command) {
      Open3.capture2(*command, err: File::NULL).then { |out, status| [out, status.exitstatus] }
    }, ["late\n", 3]],
    "capture2e" => [->(command) {
      Open3.capture2e(*command).then { |out, status| [out, status.exitstatus] }
    }, ["late\nerror\n", 3]],
    "capture3" => [->(command) {
      Open3.capture3(*command).then { |out, err, status| [out, err, status.exitstatus] }
    }, ["late\n", "error\n", 3]],
    "popen2" => [->(command) {
      Open3.popen2(*command, err: File::NULL) do |_, out, thread|
        [out.read, thread.value.exitstatus]
      end
    }, ["late\n", 3]],
    "popen2e" => [->(command) {
      Open3.popen2e(*command) { |_, out, thread| [out.read, thread.value.exitstatus] }
    }, ["late\nerror\n", 3]],
    "popen3" => [->(command) {
      Open3.popen3(*command) do |_, out, err, thread|
        [out.read, err.read, thread.value.exitstatus]
      end
    }, ["late\n", "error\n", 3]],
    "pipeline" => [->(command) {
      Open3.pipeline(command, %w[tr a-z A-Z], out: File::NULL, err: File::NULL).map(&:exitstatus)
    }, [3, 0]],
    "pipeline_r" => [->(command) {
      Open3.pipeline_r(command, %w[tr a-z A-Z], err: File::NULL) { |out, _| out.read }
    }, "LATE\n"],
    "pipeline_w" => [->(command) {
      Open3.pipeline_w(%w[cat], command, out: File::NULL, err: File::NULL) do |_, threads|
        threads.last.value.exitstatus
      end
    }, 3],
    "pipeline_rw" => [->(command) {
      Open3.pipeline_rw(%w[true], command, %w[cat], err: File::NULL) { |_, out, _| out.read }
    }, "late\n"],
    "pipeline_start" => [->(command) {
      Open3.pipeline_start(command, %w[cat], out: File::NULL, err: File::NULL) do |threads|
        threads.map { |thread| thread.value.exitstatus }
      end
    }, [3, 0]]
  }.each do |name, (call, value)|
    row "Open3.#{name}" do
      path = fifo
      opened = gate.call(path)
      inside { call.call(late.call(path)) }
      event { opened.write_nonblock("late\n") }
      gives value
    end
  end

  row "Open3.capture2", "input that is taken slowly" do
    path = fifo
    opened = gate.call(path)
    inside do
      Open3.capture2("/bin/sh", "-c", "read line < \"$0\"; wc -c", path,
                     stdin_data: "x" * (1 << 20)).first.to_i
    end
    event { opened.write_nonblock("late\n") }
    gives 1 << 20
  end

  row "Open3.popen3", "the end of the block" do
    path = fifo
    opened = gate.call(path)
    inside { Open3.popen3(*late.call(path)) { :left } }
    event { opened.write_nonblock("late\n") }
    gives :left
  end

  row "Open3.popen2", "a conversation" do
    path = fifo
    opened = gate.call(path)
    inside do
      Open3.popen2("/bin/sh", "-c", "read line; read gate < \"$0\"; echo \"$line $gate\"",
                   path) do |input, output, _|
        input.puts("first")
        output.gets
      end
    end
    event { opened.write_nonblock("late\n") }
    gives "first late\n"
  end
end
