# frozen_string_literal: true

# Limits are either far off, or what they end has no end of its own before `Hunt::LATE`.

UnchangedHunt.kind :timeouts do
  needs <<~'RUBY'
    module Hunt
      LATE = 8
      def self.forever
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LATE
        spin(500) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
        :late
      end
    end
  RUBY

  habit :far_off, <<~'RUBY'
    Timeout.timeout(60) do
      __BODY__
      out << __T__
    end
  RUBY

  habit :far_off_nested, <<~'RUBY'
    out << Timeout.timeout(60) { Timeout.timeout(50, KeyError) { __WAIT__; __T__ } }
  RUBY

  {
    sleeping: "sleep(8); :late", spinning: "Hunt.forever", popping: "Queue.new.pop",
    selecting: "IO.select(nil, nil, nil, 8); :late",
    reading: "IO.pipe.then { |reader, writer| reader.read(1).tap { writer.close } }",
    commanding: "`sleep 8`; :late", joining: "Thread.new { sleep 1 }.join; sleep 8; :late",
    nexting: "Enumerator.new { |y| sleep 8; y << :late }.next",
    nexting_spinning: "Enumerator.new { |y| y << Hunt.forever }.next",
    resuming: "Fiber.new { sleep 8; :late }.resume",
    resuming_spinning: "Fiber.new { Hunt.forever }.resume",
    waiting: "Process.wait(spawn(\"sleep 1\")); sleep 8; :late",
    conditioned: "Monitor.new.then { |monitor| " \
                 "monitor.synchronize { monitor.new_cond.wait(8) } }; :late",
    fetching: "Socket.pair(:UNIX, :STREAM, 0).then { |one, other| " \
              "one.readpartial(9).tap { other.close } }",
    sorting: "[2, 1].sort { |a, b| Hunt.forever; a <=> b }; :late",
    locking: "Mutex.new.tap { |mutex| " \
             "Thread.new { mutex.synchronize { sleep 2 } }; Hunt.nap(0.05) " \
             "}.synchronize { sleep 8 }; :late",
    blocking: "Fiber.new(blocking: true) { sleep 8; :late }.resume"
  }.each do |name, text|
    habit :"ended_#{name}", <<~RUBY
      begin
        out << Timeout.timeout(0.05) { #{text} }
      rescue Timeout::Error => e
        out << e.class << e.message
      end
    RUBY
  end

  habit :ended_with_ensure, <<~'RUBY'
    begin
      Timeout.timeout(0.05) do
        sleep 8
      ensure
        __WAIT__
        out << "ensured"
      end
    rescue Timeout::Error => e
      out << e.message << __T__
    end
  RUBY

  habit :ended_with_rescue_inside, <<~'RUBY'
    begin
      Timeout.timeout(0.05) do
        sleep 8
      rescue StandardError => e
        out << "inside #{e.class}"
        raise
      end
    rescue Timeout::Error => e
      out << "outside #{e.class}"
    end
  RUBY

  habit :ended_by_class, <<~'RUBY'
    begin
      Timeout.timeout(0.05, KeyError, __T__) { sleep 8 }
    rescue KeyError => e
      out << e.message
    end
  RUBY

  habit :ended_inner, <<~'RUBY'
    begin
      Timeout.timeout(60) do
        Timeout.timeout(0.05) { sleep 8 }
      rescue Timeout::Error
        __WAIT__
        out << "inner"
      end
      out << "after"
    rescue Timeout::Error
      out << "outer"
    end
  RUBY

  habit :ended_outer, <<~'RUBY'
    begin
      Timeout.timeout(0.05) do
        Timeout.timeout(60) { sleep 8 }
      rescue Timeout::Error => e
        out << "inner #{e.class}"
        raise
      end
    rescue Timeout::Error
      out << "outer"
    end
  RUBY

  habit :ended_in_pool, <<~'RUBY', setup: "LOCK__N__ = Monitor.new\n"
    begin
      Timeout.timeout(0.05) { sleep(0.3); LOCK__N__.synchronize { out << "never" } }
    rescue Timeout::Error
      out << LOCK__N__.synchronize { __T__ }
    end
  RUBY

  habit :limit_zero, <<~'RUBY'
    out << Timeout.timeout(0) { __WAIT__; __T__ } << Timeout.timeout(nil) { __T__ }
  RUBY

  habit :limit_per_read, <<~'RUBY'
    reader__N__, writer__N__ = IO.pipe
    writer__N__ << __T__ << "\n"
    out << Timeout.timeout(60) { reader__N__.gets }
    out << (Timeout.timeout(0.05) { reader__N__.gets } rescue $!.class)
    [reader__N__, writer__N__].each(&:close)
  RUBY

  habit :http_timeout, <<~'RUBY', setup: "require \"net/http\"\n"
    server__N__ = TCPServer.new("127.0.0.1", 0)
    begin
      Net::HTTP.start("127.0.0.1", server__N__.addr[1], read_timeout: 0.1, max_retries: 0) do |http|
        http.get("/")
      end
    rescue Net::ReadTimeout => e
      out << e.class
    ensure
      server__N__.close
    end
  RUBY
end
