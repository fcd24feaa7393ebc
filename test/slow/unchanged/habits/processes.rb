# frozen_string_literal: true

UnchangedHunt.kind :processes do
  habit :backticks, <<~'RUBY'
    out << `echo #{__T__}` << $?.exitstatus
  RUBY

  habit :system_call, <<~'RUBY'
    out << system("exit #{id.sum % 3}") << $?.exitstatus << system("no-such-command__N__").inspect
  RUBY

  habit :capture, <<~'RUBY'
    out << Open3.capture3("cat; echo err >&2; exit 3", stdin_data: __T__).map { |part|
      part.respond_to?(:exitstatus) ? part.exitstatus : part
    }
  RUBY

  habit :popen, <<~'RUBY'
    IO.popen(["cat"], "r+") do |cat|
      cat << __T__
      __WAIT__
      cat.close_write
      out << cat.read
    end
    out << $?.exitstatus
  RUBY

  habit :popen_around, <<~'RUBY'
    IO.popen("cat", "r+") do |cat__N__|
      cat__N__.puts(__T__)
      __BODY__
      out << cat__N__.gets
    end
  RUBY

  habit :spawned, <<~'RUBY'
    pid__N__ = Process.spawn("exit #{id.sum % 9}")
    __WAIT__
    Process.wait(pid__N__)
    out << $?.exitstatus << ($?.pid == pid__N__) << (Process.wait(pid__N__) rescue $!.class)
  RUBY

  habit :wait2, <<~'RUBY'
    pid__N__ = spawn("sleep 0.01; exit 4")
    out << Process.wait2(pid__N__).last.exitstatus << $?.exitstatus
  RUBY

  habit :detached, <<~'RUBY'
    thread__N__ = Process.detach(spawn("exit 5"))
    __WAIT__
    out << thread__N__.value.exitstatus
  RUBY

  habit :forked, <<~'RUBY'
    pid__N__ = fork { exit!(6) }
    Process.wait(pid__N__)
    out << $?.exitstatus
  RUBY

  habit :killed, <<~'RUBY'
    pid__N__ = spawn("sleep 30")
    Process.kill(:KILL, pid__N__)
    Process.wait(pid__N__)
    out << $?.signaled? << $?.termsig << $?.exitstatus.inspect
  RUBY

  habit :no_hang, <<~'RUBY'
    pid__N__ = spawn("exit 2")
    found__N__ = nil
    sleep 0.002 until (found__N__ = Process.wait(pid__N__, Process::WNOHANG))
    out << (found__N__ == pid__N__) << $?.exitstatus
  RUBY

  habit :piped, <<~'RUBY'
    reader__N__, writer__N__ = IO.pipe
    pid__N__ = spawn("echo", __T__, out: writer__N__)
    writer__N__.close
    out << reader__N__.read
    reader__N__.close
    Process.wait(pid__N__)
  RUBY
end
