# frozen_string_literal: true

HookTable.library "Process" do
  # @return [Array(Integer, IO)] a process that ends with status 3 when its line is written
  def self.waits_for_child(name, variant = nil, **options, &call)
    row name, variant, **options do
      words, redirections, gate = waiting_command
      pid = Process.spawn(*words, out: File::NULL, **redirections)
      inside { instance_exec(pid, &call) }
      event { gate.puts }
      gives { |result| result == (result.is_a?(Array) ? [pid, 3] : 3) }
    end
  end

  waits_for_child("Process.wait", also: "Process.waitpid") do |pid|
    Process.wait(pid) == pid && $?.exitstatus
  end
  waits_for_child("Process.wait", "for any child") { |pid| [Process.wait, $?.exitstatus] if pid }
  waits_for_child("Process.wait", "in turns of WNOHANG") do |pid|
    sleep(0.001) until Process.wait(pid, Process::WNOHANG)
    $?.exitstatus
  end
  waits_for_child("Process.wait2", also: "Process.waitpid2") do |pid|
    Process.wait2(pid).then { |ended, status| [ended, status.exitstatus] }
  end
  waits_for_child("Process.waitall") do
    Process.waitall.first.then { |pid, status| [pid, status.exitstatus] }
  end
  waits_for_child("Process.detach", "and its value") { |pid| Process.detach(pid).value.exitstatus }
  waits_for_child("Process::Status.wait") { |pid| Process::Status.wait(pid).exitstatus }

  row "Process.wait", "for a process group" do
    words, redirections, gate = waiting_command
    pid = Process.spawn(*words, out: File::NULL, pgroup: true, **redirections)
    inside { Process.wait(-pid) == pid && $?.exitstatus }
    event { gate.puts }
    gives 3
  end

  row "Process.wait", "in several fibers, each for its own" do
    gates = []
    pids = Array.new(5) do
      words, redirections, gate = waiting_command
      gates << gate
      Process.spawn(*words, out: File::NULL, **redirections)
    end
    statuses = []
    pids.drop(1).each { |pid| companion { statuses << Process::Status.wait(pid).exitstatus } }
    inside do
      Process.wait(pids.first)
      sleep(0.001) until statuses.size == 4
      statuses
    end
    event { gates.each(&:puts) }
    gives [3, 3, 3, 3]
  end
end
