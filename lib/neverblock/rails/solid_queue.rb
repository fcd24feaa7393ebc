# frozen_string_literal: true

# Solid Queue's processes beside the server, as `plugin :solid_queue` of a generated puma.rb has them: bin/jobs as a child that starts when the server serves and
# ends with it, however that ends. It is started again when it ends by itself, later each time.

require "rbconfig"

module NeverBlock
  class SolidQueueProcess
    COMMAND = "bin/jobs"
    # The child ends with its parent even where that is killed.
    CODE = <<~RUBY
      parent = Integer(ARGV.shift)
      Thread.new { sleep 1 while Process.ppid == parent; Process.kill(:TERM, Process.pid) }
      $PROGRAM_NAME = ARGV.shift
      load $PROGRAM_NAME
    RUBY
    # Seconds before it is started again: the first time, and at most.
    AGAIN_S = 1
    AGAIN_S_MAX = 30
    LOOK_S = 0.1
    # Seconds between looks at whether it has ended by itself.
    CHECK_S = 1

    # @param log [Log]
    # @param directory [String] the application's
    # @param stop_s [Numeric] seconds that it may take to end
    # @param command [Array<String>] what is started
    def initialize(log, directory: Dir.pwd, stop_s: 30, command: [RbConfig.ruby, "-e", CODE, ::Process.pid.to_s, COMMAND])
      @log = log
      @directory = directory
      @stop_s = stop_s
      @command = command
      @wait_s = AGAIN_S
    end

    # @return [String, nil] why it cannot be started
    def problem
      "solid_queue: there is no #{COMMAND} in #{@directory}; `bin/rails solid_queue:install` makes it" unless File.exist?(File.join(@directory, COMMAND))
    end

    # Starts it, and again until it is to stop.
    # @return [self]
    def start
      @thread = Thread.new do
        Thread.current.name = "nb-solid-queue"
        until @stopping
          run
          break if @stopping

          @log.warn("Solid Queue (#{COMMAND}) has ended; it is started again in #{@wait_s} s")
          sleep(@wait_s)
          @wait_s = [@wait_s * 2, AGAIN_S_MAX].min
        end
      end
      self
    end

    # Ends it, and waits for that.
    # @return [void]
    def stop
      @stopping = true
      signal("TERM")
      @thread&.wakeup
      signal("KILL") unless ended_within(@stop_s)
      @thread&.join(@stop_s)
    rescue ThreadError # it has just ended
      nil
    end

    private

    def run
      @pid = ::Process.spawn(*@command, chdir: @directory, in: File::NULL)
      @log.info("Solid Queue (#{COMMAND}) is process #{@pid}")
      signal("TERM") if @stopping
      # Not a wait: before Ruby 3.3 others of this process could not wait for any child meanwhile, as a front does.
      sleep(@stopping ? LOOK_S : CHECK_S) until ::Process.wait(@pid, ::Process::WNOHANG)
    rescue Errno::ECHILD # whoever reaps for the whole server was first
      nil
    rescue SystemCallError => e
      @log.warn("Solid Queue (#{COMMAND}) does not start: #{e.message}")
    ensure
      @pid = nil
    end

    def signal(name)
      pid = @pid
      ::Process.kill(name, pid) if pid
    rescue Errno::ESRCH
      nil
    end

    def ended_within(seconds)
      limit = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + seconds
      sleep(LOOK_S) while @pid && ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) < limit
      @pid.nil?
    end
  end
end
