# frozen_string_literal: true

# Solid Queue's processes beside the server, as `plugin :solid_queue` of a generated puma.rb has
# them. bin/jobs is a child that starts when the server serves, and ends with it, however that ends.
# When it ends by itself it is started again, after a growing delay.

require "rbconfig"
require "neverblock/verbs/deadline"

module NeverBlock
  class SolidQueueProcess
    COMMAND = "bin/jobs"
    # Ends the child with its parent even where that is killed.
    CODE = <<~RUBY
      parent = Integer(ARGV.shift)
      Thread.new { sleep 1 while Process.ppid == parent; Process.kill(:TERM, Process.pid) }
      $PROGRAM_NAME = ARGV.shift
      load $PROGRAM_NAME
    RUBY
    # Seconds before it is started again: the first delay, and the longest.
    AGAIN_S = 1
    AGAIN_S_MAX = 30
    # Seconds between two checks whether it has ended, once it must.
    LOOK_S = 0.1
    # Seconds between two checks whether it has ended by itself.
    CHECK_S = 1

    # What is started: a Ruby with CODE.
    CHILD = [RbConfig.ruby, "-e", CODE].freeze
    private_constant :CHILD

    # @param log [Log]
    # @param directory [String] the application's
    # @param variables [Hash{String => String}] further ones of its environment
    # @param stop_s [Numeric] seconds that it may take to end; then it is killed
    # @param command [Array<String>] what is started
    def initialize(log, directory: Dir.pwd, variables: {}, stop_s: 30,
                   command: [*CHILD, ::Process.pid.to_s, COMMAND])
      @log = log
      @directory = directory
      @variables = { "PWD" => directory, **variables }
      @stop_s = stop_s
      @command = command
      @wait_s = AGAIN_S
    end

    # @return [String, nil] why it cannot be started
    def problem
      return if File.exist?(File.join(@directory, COMMAND))

      "solid_queue: there is no #{COMMAND} in #{@directory}; " \
        "`bin/rails solid_queue:install` makes it"
    end

    # Starts it, on a thread of its own, and starts it again until #stop.
    # @return [self]
    def start
      @thread = Thread.new do
        Thread.current.name = "nb-solid-queue"
        until @stopping
          began = Deadline.now
          run
          break if @stopping

          @wait_s = AGAIN_S if Deadline.now - began > AGAIN_S_MAX
          @log.warn("Solid Queue (#{COMMAND}) has ended; it is started again in #{@wait_s} s")
          sleep(@wait_s)
          @wait_s = [@wait_s * 2, AGAIN_S_MAX].min
        end
      end
      self
    end

    # Ends it, and blocks until it has ended.
    # @return [void]
    def stop
      @stopping = true
      signal("TERM")
      @thread&.wakeup
      signal("KILL") unless ended_within(@stop_s)
      @thread&.join(@stop_s)
    rescue ThreadError # the thread has just ended
      nil
    end

    private

    def run
      @pid = ::Process.spawn(@variables, *@command, chdir: @directory, in: File::NULL)
      @log.info("Solid Queue (#{COMMAND}) is process #{@pid}")
      signal("TERM") if @stopping
      # It does not block in wait(2): before Ruby 3.3 other threads could then wait for no child, as
      # a front does.
      sleep(@stopping ? LOOK_S : CHECK_S) until ::Process.wait(@pid, ::Process::WNOHANG)
    rescue Errno::ECHILD # the server's own wait for any child was first
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
