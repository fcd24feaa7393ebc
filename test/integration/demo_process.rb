# frozen_string_literal: true

# bin/demo as a child, as somebody at a terminal starts it: its lines, its address, its end.
# bin/test has done the setting up, so that only the demo itself takes time here.

require "timeout"

class DemoProcess
  ROOT = File.expand_path("../..", __dir__)
  DEADLINE_S = 100
  LISTENING = %r{^demo: Listening on (http://127\.0\.0\.1:\d+)$}
  # The demo has its own bundle: none of ours may reach it.
  CLEAN = ENV.keys.grep(/\A(BUNDLE|BUNDLER|RUBYOPT|RUBYLIB|GEM_)/)
    .to_h { |name| [name, nil] }
    .merge("PORT" => nil)
    .freeze

  class Failed < StandardError; end

  # @yieldparam demo [DemoProcess]
  def self.run(*words, **env)
    demo = new(*words, **env)
    yield demo
  ensure
    demo&.stop
  end

  attr_reader :pid

  # @param words [Array<String>] of the command line
  # @param env [Hash{Symbol => String}]
  def initialize(*words, **env)
    @reader, writer = IO.pipe
    @pid = Process.spawn(
      CLEAN.merge(env.transform_keys(&:to_s)), File.join(ROOT, "bin/demo"), *words,
      out: writer, err: writer, in: File::NULL, pgroup: true, chdir: "/"
    )
    writer.close
    @lines = Thread::Queue.new
    @pump = Thread.new do
      @reader.each_line { |line| @lines << line }
      @lines.close
    end
  end

  # @return [String] its address, once it says so
  def url
    @url ||= await(LISTENING)
  end

  # @return [String] the first group of the line that matches
  # @raise [Failed]
  def await(pattern)
    seen = +""
    Timeout.timeout(DEADLINE_S) do
      while (line = @lines.pop)
        seen << line
        match = pattern.match(line)
        return match[1] || match[0] if match
      end
    end
    raise Failed, "no #{pattern.inspect} in:\n#{seen}"
  end

  # @return [Array(Integer, String)] exit status and all it said
  def finish
    status = wait
    text = +""
    while (line = @lines.pop)
      text << line
    end
    [status, text]
  end

  # As a terminal does: to the whole foreground group.
  def interrupt
    Process.kill("INT", -pid)
  end

  # @return [Integer] exit status
  def wait
    @wait ||= Timeout.timeout(DEADLINE_S) { Process.wait2(pid).last.exitstatus }
  end

  def stop
    begin
      Process.kill("TERM", -pid) unless @wait
      wait
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    end
    @pump.join(5)
    @reader.close
  end
end
