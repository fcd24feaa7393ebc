# frozen_string_literal: true

# bin/demo runs this once everything is installed. It starts the slow services and the demo, says
# what to try, and ends both at Ctrl-C. With --check it drives the demo itself and exits with 0 or
# 1.

require "fileutils"
require "tmpdir"
require_relative "lib/demo/check"
require_relative "lib/demo/child"

module Demo
  class Launch
    FOLDER = __dir__
    DATA = File.expand_path("../../build/demo", __dir__)
    HOST = "127.0.0.1"
    PORT = 9292

    def initialize(arguments, env: ENV)
      @check = arguments == ["--check"]
      unless arguments.empty? || @check
        raise Child::Failed, "unknown option #{arguments.join(" ")}; --check is what there is"
      end

      @env = env
      @events = Thread::Queue.new
    end

    # @return [Integer] exit status
    def run
      %w[INT TERM].each { |name| Signal.trap(name) { @events << name } }
      @check ? in_temporary_folder { |folder| check(folder) } : serve
    ensure
      [@server, @services].compact.each(&:stop)
      FileUtils.rm_f(@address) if @address
    end

    private

    def serve
      FileUtils.mkdir_p(DATA)
      start(DATA, port, server_log: nil)
      puts advice
      $stdout.flush
      watch
    end

    def check(folder)
      start(folder, 0, server_log: File.join(folder, "server.log"))
      right = Check.new(@server.url).run
      right &= ended_well?("the demo", @server.stop) & ended_well?("the services", @services.stop)
      $stderr.puts(File.read(File.join(folder, "server.log"))) unless right
      puts right ? "demo: all is well" : "demo: something is wrong, see above"
      right ? 0 : 1
    end

    def start(folder, port, server_log:)
      @services = Child.new("the slow services", File.join(FOLDER, "services.ru"),
                            ["-b", "http://#{HOST}:0"],
                            log: File.join(folder, "services.log")).start
      @server = start_server(folder, port, server_log)
    end

    def start_server(folder, port, log)
      # One for each demo that runs: several may share the folder.
      @address = File.join(folder, "address.#{Process.pid}")
      env = { "DEMO_SERVICES" => @services.url,
              "DEMO_DATABASE" => File.join(folder, "catalog.sqlite3"),
              "DEMO_ADDRESS_FILE" => @address, "PORT" => nil }
      server = Child.new("the demo", File.join(FOLDER, "config.ru"),
                         ["-b", "http://#{HOST}:#{port}", "--admin", "http://#{HOST}:0"], env: env,
                         log: log).start
      # Port 0 is known only now, and the demo asks itself.
      File.write(@address, "#{server.url}\n#{server.admin_url}\n")
      server
    rescue Child::Failed => e
      raise if log

      raise Child::Failed, "#{e.message}, see above; another port: " \
                           "PORT=#{port < 65_535 ? port + 1 : PORT} bin/demo"
    end

    def port
      text = @env["PORT"].to_s
      return PORT if text.empty?
      return text.to_i if text.match?(/\A\d{1,5}\z/) && text.to_i.between?(0, 65_535)

      raise Child::Failed, "PORT is a whole number from 0 to 65535; seen #{text.inspect}"
    end

    # Until Ctrl-C, or until one of the two is gone.
    def watch
      Thread.new do
        sleep 0.5 while @server.running? && @services.running?
        @events << :gone
      end
      return stop_all unless @events.pop == :gone

      raise Child::Failed,
            "#{@server.running? ? "the slow services have" : "the demo has"} ended by itself"
    end

    # The server drains for as long as its requests need; a second Ctrl-C reaches it.
    def stop_all
      puts "", "demo: ending; once more to end at once"
      relay = Thread.new { loop { @server.signal("TERM") if @events.pop } }
      status = @server.stop
      relay.kill
      @services.stop
      status.to_i
    end

    def ended_well?(name, status)
      return true if status == 0

      puts "demo: #{name} ended with #{status.inspect}, 0 expected"
      false
    end

    def in_temporary_folder(&block)
      Dir.mktmpdir("neverblock-demo", &block)
    end

    def advice
      url = @server.url
      slow = "curl -s -o /dev/null \"#{url}/slow?id=$i\""
      <<~TEXT
        demo: Listening on #{url}
        demo: the slow services it asks are on #{@services.url}

          open #{url}/ in a browser, or try in another terminal:
            time curl -s #{url}/slow
            time sh -c 'for i in $(seq 200); do #{slow} & done; wait'
            exe/neverblock top --admin #{@server.admin_url}
            bin/demo --check

        demo: Ctrl-C ends it
      TEXT
    end
  end
end

begin
  exit Demo::Launch.new(ARGV).run
rescue Demo::Child::Failed => e
  warn "bin/demo: #{e.message}"
  exit 1
end
