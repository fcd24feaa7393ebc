# frozen_string_literal: true

class TestRun
  # One command in a process group of its own, so that a run that hangs is ended with all it
  # started.
  class Child
    LIMIT_S = Integer(ENV.fetch("NB_TEST_SUITE_SECONDS", "1200"), 10)
    # In seconds since 1970: a suite ends earlier than by LIMIT_S where it would pass this time.
    ENDS_AT = ENV.fetch("NB_TEST_ENDS_AT", nil)&.then { |time| Integer(time, 10) }
    READ_S = 60 # for what the pipe still holds
    ABORT_S = 5 # between asking for a core's stack (ABRT: Ruby prints one) and ending the group

    # @return [Integer] seconds that a suite which begins now may take
    def self.limit_s
      ENDS_AT ? (ENDS_AT - Time.now.to_i).clamp(1, LIMIT_S) : LIMIT_S
    end

    # @return [Symbol] :ok, :failed or :late
    def self.run(command, **options, &on_line)
      new(command, **options).run(&on_line)
    end

    # @return [Process::Status, nil] how it ended
    attr_reader :status

    # @param streams [Array<Symbol>] those of :out and :err whose lines go to the block of {#run};
    #   the others are our own
    def initialize(command, env: {}, chdir: nil, limit_s: Child.limit_s, streams: %i[out err])
      @command = command
      @env = env
      @chdir = chdir
      @limit_s = limit_s
      @streams = streams
    end

    # Without a block all output goes to our own.
    # @return [Symbol] :ok, :failed or :late
    def run(&on_line)
      reader, writer = IO.pipe if on_line
      @pid = Process.spawn(@env, *@command, **spawn_options(writer))
      writer&.close
      lines = Thread.new { reader.each_line { |line| yield line.scrub } } if on_line
      outcome = wait
      end_group # whoever is left of it would keep the pipe open
      lines&.join(READ_S)
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
      options[@streams] = writer if writer
      options
    end

    def wait
      Timeout.timeout(@limit_s) { reap }
      @status.success? ? :ok : :failed
    rescue Timeout::Error
      signal("ABRT")
      begin
        Timeout.timeout(ABORT_S) { reap }
      rescue Timeout::Error
        signal("KILL")
        reap
      end
      :late
    end

    def reap
      @status = Process.wait2(@pid).last
    end

    def end_group
      signal("KILL") if @pid
      @pid = nil
    end

    def signal(name)
      Process.kill(name, -@pid)
    rescue Errno::ESRCH, Errno::EPERM
      nil
    end
  end
end
