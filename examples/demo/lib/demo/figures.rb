# frozen_string_literal: true

# A Rack middleware with the figures that the application can know by itself. It counts requests,
# and asks Ruby and the kernel about this process. GET /api/figures answers them as JSON, with the
# server's own figures beside them.

require "json"

module Demo
  class Figures
    PATH = "/api/figures"
    SECONDS = 60
    PAGE_BYTES = 4096

    # One second: the most requests in flight at one moment of it, and how many ended in it.
    Second = Struct.new(:number, :in_flight, :served)

    # @param app [#call]
    # @param server [#to_h, nil] the server's own figures
    # @param clock [#call] seconds of a clock that only goes forward
    def initialize(app, server: nil, clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
      @app = app
      @server = server
      @clock = clock
      @lock = Mutex.new
      @in_flight = @most = @served = @failed = 0
      @seconds = [Second.new(now.to_i, 0, 0)]
      @began = now
    end

    def call(env)
      return count(env) unless env["PATH_INFO"] == PATH

      [200, { "content-type" => "application/json", "cache-control" => "no-store" },
       [JSON.generate(to_h)]]
    end

    # Requests for figures are not counted.
    # @return [Hash{String => Object}] bytes, seconds, numbers; nil where this machine has no figure
    def to_h
      requests.merge(
        "uptime_s" => (now - @began).round(1),
        "cpu_s" => Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID).round(3),
        "memory_bytes" => memory_bytes,
        "fibers" => ObjectSpace.each_object(Fiber).count(&:alive?),
        "threads" => Thread.list.size,
        "collections" => GC.count,
        "process" => Process.pid,
        "ruby" => RUBY_VERSION,
        "server" => @server&.to_h
      )
    end

    private

    def count(env)
      step(1)
      response = @app.call(env)
    ensure
      step(-1, failed: response.nil? || response[0].to_i >= 500)
    end

    def step(by, failed: false)
      @lock.synchronize do
        second = second_now
        @in_flight += by
        second.in_flight = @in_flight if @in_flight > second.in_flight
        @most = @in_flight if @in_flight > @most
        next unless by.negative?

        second.served += 1
        @served += 1
        @failed += 1 if failed
      end
    end

    # The seconds in which nobody came had those in flight that were.
    def second_now
      number = now.to_i
      first = [@seconds.last.number + 1, number - SECONDS].max
      first.upto(number) { |missing| @seconds << Second.new(missing, @in_flight, 0) }
      @seconds.shift while @seconds.size > SECONDS
      @seconds.last
    end

    def requests
      @lock.synchronize do
        second_now
        empty = Array.new(SECONDS - @seconds.size, 0)
        { "in_flight" => @in_flight, "in_flight_most" => @most, "served" => @served,
          "failed" => @failed,
          "in_flight_by_second" => empty + @seconds.map(&:in_flight),
          "served_by_second" => empty + @seconds.map(&:served) }
      end
    end

    # proc(5), /proc/PID/statm: the second field is the resident set in pages.
    def memory_bytes
      File.read("/proc/self/statm").split[1].to_i * page_bytes
    rescue SystemCallError
      nil
    end

    def page_bytes
      @page_bytes ||= begin
        require "etc"
        Etc.sysconf(Etc::SC_PAGESIZE) || PAGE_BYTES
      end
    end

    def now
      @clock.call
    end
  end
end
