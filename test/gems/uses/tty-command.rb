# frozen_string_literal: true

Gems.use "tty-command" do
  requires "tty-command"
  answer do |id|
    command = TTY::Command.new(printer: :null)
    parts = []
    command.run("cat", input: "in #{id}") { |out, _| parts << out if out }
    [command.run("sleep 0.01; echo #{id}; echo to #{id} >&2").to_a,
     command.run!("exit 3").exit_status, parts.join,
     begin
       command.run("sleep 60", timeout: 0.2)
     rescue TTY::Command::TimeoutExceeded => e
       e.class
     end]
  end
end
