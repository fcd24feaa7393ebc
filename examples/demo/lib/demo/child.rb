# frozen_string_literal: true

# One neverblock process of the demo: started, waited for until it says where it listens, and ended.

require "rbconfig"
require_relative "clock"

module Demo
  class Child
    include Clock

    # A process did not start, or did not end as it should. The message is for the person at the
    # terminal.
    class Failed < StandardError; end

    START_S = 30
    # The server cuts what is not done after 30 s.
    STOP_S = 40
    EXECUTABLE = File.expand_path("../../../../exe/neverblock", __dir__)
    LISTENING = /\AListening on (\S+)/
    ADMIN = /\AAdmin on (\S+)/

    # @return [String] the address it listens on, once started
    attr_reader :url
    # @return [String, nil] the address of its figures, when it was told to have one
    attr_reader :admin_url

    # @param name [String] what to call it
    # @param rackup [String] path
    # @param options [Array<String>] further words of the command
    # @param env [Hash]
    # @param log [String, nil] path of a file for its standard error; nil: ours
    def initialize(name, rackup, options, env: {}, log: nil)
      @name = name
      @words = [RbConfig.ruby, EXECUTABLE, rackup, *options]
      @env = env
      @log = log
      @lock = Mutex.new
    end

    # The child has a process group of its own. Ctrl-C then reaches only this program, which ends
    # its children in order.
    # @return [self]
    # @raise [Failed]
    def start
      reader, writer = IO.pipe
      @pid = Process.spawn(@env, *@words,
                           out: writer, err: @log || :err, in: File::NULL, pgroup: true)
      writer.close
      @url = await_url(reader, LISTENING)
      @admin_url = await_url(reader, ADMIN) if @words.include?("--admin")
      @drain = Thread.new { reader.each_line { nil } }
      self
    end

    # Any thread: a process can be waited for only once.
    # @return [Boolean]
    def running?
      @lock.synchronize do
        return false if @pid.nil? || @status

        @status = Process.wait2(@pid, Process::WNOHANG)&.last
        @status.nil?
      end
    end

    # Ends it with TERM, and with KILL when that does nothing.
    # @return [Integer, nil] exit status
    def stop(seconds = STOP_S)
      signal("TERM")
      await_end(seconds) || (signal("KILL") && await_end(5))
      @status&.exitstatus
    end

    # @return [Boolean] whether it was there to be told
    def signal(name)
      return false unless running?

      Process.kill(name, @pid)
      true
    rescue Errno::ESRCH
      false
    end

    private

    def await_url(reader, pattern)
      limit = now + START_S
      while (left = limit - now).positive?
        next unless reader.wait_readable(left)

        line = reader.gets or break
        url = line[pattern, 1]
        return url if url
      end
      stop(2)
      raise Failed, "#{@name} did not start#{said}"
    end

    def said
      return "" unless @log && File.size?(@log)

      ": #{File.readlines(@log).last(5).join.strip}"
    end

    def await_end(seconds)
      limit = now + seconds
      sleep 0.01 while running? && now < limit
      !running?
    end
  end
end
