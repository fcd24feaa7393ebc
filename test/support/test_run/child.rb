# frozen_string_literal: true

class TestRun
  # One command in a process group of its own, so that a run that hangs is ended with all it started.
  class Child
    LIMIT_S = Integer(ENV.fetch("NB_TEST_SUITE_SECONDS", "1200"), 10)
    ABORT_S = 5 # between asking for a core's stack (ABRT: Ruby prints one) and ending the group

    # @return [Symbol] :ok, :failed or :late
    def self.run(command, env: {}, chdir: nil, limit_s: LIMIT_S, &on_line)
      new(command, env, chdir, limit_s).run(&on_line)
    end

    def initialize(command, env, chdir, limit_s)
      @command = command
      @env = env
      @chdir = chdir
      @limit_s = limit_s
    end

    # With a block each line of output goes there, else to our own standard output.
    def run(&on_line)
      reader, writer = IO.pipe if on_line
      @pid = Process.spawn(@env, *@command, **spawn_options(writer))
      writer&.close
      lines = Thread.new { reader.each_line { |line| yield line.scrub } } if on_line
      outcome = wait
      lines&.join(ABORT_S)
      outcome
    ensure
      end_group
      lines&.kill
      reader&.close
    end

    private

    def spawn_options(writer)
      options = { pgroup: true, in: File::NULL }
      options[:chdir] = @chdir if @chdir
      options[%i[out err]] = writer if writer
      options
    end

    def wait
      Timeout.timeout(@limit_s) { Process.wait(@pid) }
      $?.success? ? :ok : :failed
    rescue Timeout::Error
      signal("ABRT")
      begin
        Timeout.timeout(ABORT_S) { Process.wait(@pid) }
      rescue Timeout::Error
        signal("KILL")
        Process.wait(@pid)
      end
      :late
    end

    def end_group
      signal("KILL") if @pid
    end

    def signal(name)
      Process.kill(name, -@pid)
    rescue Errno::ESRCH, Errno::EPERM
      nil
    end
  end
end
