# frozen_string_literal: true

# Real PostgreSQL, MariaDB and Redis for tests and benchmarks. Each is started once for a process
# that asks, on a free loopback port with data in a temporary folder, as a user that is not root,
# and ended with the process. Nothing that already runs on the machine is used or touched.
#
#   Services.postgresql.port     # starts it at the first call
#   Services.mariadb.socket      # UNIX socket, beside TCP on 127.0.0.1
#   Services.postgresql(tls: true).ca_file     # another one, which speaks TLS
#   Services.postgresql.restart                # the same data and port

require "etc"
require "fileutils"
require "socket"
require "tmpdir"

require_relative "patience"
require_relative "self_signed_certificate"

module Services
  # The server is not on this machine, or did not come up. The message holds the end of what it
  # printed.
  class Unavailable < StandardError; end

  START_S = STOP_S = Patience::SECONDS
  OUTPUT_BYTES_MAX = 16_384

  class << self
    # One for each set of options.
    # @param tls [Boolean] whether it also speaks TLS, with a certificate for localhost and
    #   127.0.0.1 that #ca_file trusts
    # @param max_connections [Integer]
    # @return [Service] PostgreSQL; superuser "postgres" without a password, database "postgres"
    def postgresql(**options)
      started([:postgresql, options]) { Postgresql.new(**options) }
    end

    # As #postgresql.
    # @return [Service] MariaDB; user "root" without a password, database "test"
    def mariadb(**options)
      started([:mariadb, options]) { Mariadb.new(**options) }
    end

    # @return [Service] Redis without persistence
    def redis
      started(:redis) { Redis.new }
    end

    # Ends what was started, newest first. Called when the process exits.
    def stop_all
      return unless @pid == Process.pid

      @running&.values&.reverse_each(&:stop)
      @running = nil
    end

    private

    def started(name)
      if @pid != Process.pid # a forked child must neither share nor end its parent's
        @pid = Process.pid
        @running = {}
        at_exit { stop_all }
      end
      @running ||= {}
      @running[name] ||= yield.start
    end
  end

  # One server program: prepare its folder, start it, wait for its own word that it is ready, end
  # it.
  class Service
    HOST = "127.0.0.1"

    # Certificate and key, where it speaks TLS.
    CERTIFICATE = "server.pem"
    KEY = "server.key"

    attr_reader :port, :folder, :pid

    # @param tls [Boolean]
    # @param max_connections [Integer]
    def initialize(tls: false, max_connections: 300)
      @tls = tls
      @max_connections = max_connections
    end

    # @return [Service] self, ready for connections
    # @raise [Unavailable] when it is not installed or does not start in START_S
    def start
      missing = programs.reject { |program| File.executable?(program.to_s) }
      unless missing.empty?
        raise Unavailable, "#{name} is not installed (bin/setup --all installs it)"
      end

      @folder = Dir.mktmpdir("nb-#{name}-")
      FileUtils.chown(owner, nil, @folder) if owner
      write_certificate if @tls
      prepare
      launch
      self
    rescue StandardError
      stop
      raise
    end

    # Ends it and starts it again with its data, on its port.
    # @param signal [String] what ends it; its own way of stopping by default
    # @return [Service] self, ready for connections
    def restart(signal = stop_signal)
      finish_process(signal)
      @drain.join(Patience::SECONDS)
      @output = +""
      spawn_and_wait
      self
    end

    # @return [String] what a client has to trust, where it speaks TLS
    def ca_file
      File.join(@folder, CERTIFICATE)
    end

    def host
      HOST
    end

    def running?
      !@pid.nil? && Process.wait(@pid, Process::WNOHANG).nil?
    rescue Errno::ECHILD
      false
    end

    def stop
      finish_process if @pid
      @drain&.join(Patience::SECONDS)
      FileUtils.remove_entry(@folder) if @folder && File.exist?(@folder)
      @folder = nil
    end

    def name
      self.class.name.to_s.split("::").last.to_s.downcase
    end

    private

    # Databases refuse to run as root: then they run as the user their package made, or as nobody.
    def owner
      return unless Process.uid.zero?

      @owner ||= [user, "nobody"].find do |candidate|
        Etc.getpwnam(candidate)
      rescue StandardError
        nil
      end
    end

    def as_owner(command)
      return command unless owner

      account = Etc.getpwnam(owner)
      ["setpriv", "--reuid=#{account.uid}", "--regid=#{account.gid}", "--clear-groups", "--",
       *command]
    end

    # Tries another port when somebody took ours between looking and binding.
    def launch
      attempts = 0
      begin
        @port = free_port
        @output = +""
        spawn_and_wait
      rescue Unavailable
        attempts += 1
        finish_process if @pid
        retry if attempts < 3 && @output.match?(/address already in use/i)
        raise
      end
    end

    def spawn_and_wait
      reader, writer = IO.pipe
      @pid = Process.spawn(environment, *as_owner(command),
                           in: File::NULL, out: writer, err: writer, chdir: @folder)
      writer.close
      gate = Thread::Queue.new
      @drain = Thread.new { drain(reader, gate) }
      return if await(gate) == :ready

      raise Unavailable, "#{name} did not start: #{@output[-2000..] || @output}"
    end

    # Reads for as long as the server lives, so that a full pipe never stops it.
    def drain(reader, gate)
      while (line = reader.gets)
        @output << line.scrub if @output.bytesize < OUTPUT_BYTES_MAX
        gate.push(:ready) if line.b.match?(ready)
      end
    ensure
      gate.push(:ended)
      reader.close
    end

    def await(gate)
      Timeout.timeout(START_S) { gate.pop }
    rescue Timeout::Error
      :late
    end

    def write_certificate
      certificate = SelfSignedCertificate.new
      { CERTIFICATE => certificate.pem, KEY => certificate.key_pem }.each do |name, text|
        file = File.join(@folder, name)
        File.write(file, text, perm: 0o600)
        FileUtils.chown(owner, nil, file) if owner
      end
    end

    def finish_process(signal = stop_signal)
      Process.kill(signal, @pid)
      Timeout.timeout(STOP_S) { Process.wait(@pid) }
    rescue Timeout::Error
      Process.kill("KILL", @pid)
      Process.wait(@pid)
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    ensure
      @pid = nil
    end

    def free_port
      TCPServer.open(HOST, 0) { |server| server.addr[1] }
    end

    def run(*command)
      output = IO.popen(environment, as_owner(command), err: %i[child out], chdir: @folder, &:read)
      return if $?.success?

      raise Unavailable, "#{name}: #{command.first} failed: #{output[-2000..] || output}"
    end

    def environment
      { "LC_ALL" => "C.UTF-8", "HOME" => @folder, "TMPDIR" => @folder }
    end

    def stop_signal
      "TERM"
    end

    def find(program, *folders)
      all = ENV.fetch("PATH", "").split(":") + %w[/usr/sbin /usr/local/sbin] + folders
      all.map { |folder| File.join(folder, program) }.find { |path| File.executable?(path) }
    end
  end

  # Durability is switched off: the data live as long as the test.
  class Postgresql < Service
    def url
      "postgresql://postgres@#{host}:#{port}/postgres"
    end

    private

    def user
      "postgres"
    end

    def binary(program)
      find(program, *Dir["/usr/lib/postgresql/*/bin"].sort_by { |path| path[/\d+/].to_i }.reverse)
    end

    def programs
      [binary("initdb"), binary("postgres")]
    end

    def prepare
      run(binary("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
          "--no-locale", "--no-sync")
    end

    def data
      File.join(@folder, "data")
    end

    def command
      [
        binary("postgres"), "-D", data, "-h", HOST, "-p", port.to_s, "-k", @folder,
        "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off",
        "-c", "max_connections=#{@max_connections}", "-c", "shared_buffers=32MB", *tls
      ]
    end

    def tls
      return [] unless @tls

      ["-c", "ssl=on", "-c", "ssl_cert_file=#{ca_file}",
       "-c", "ssl_key_file=#{File.join(@folder, KEY)}"]
    end

    def ready
      /database system is ready to accept connections/
    end

    def stop_signal
      "INT" # fast shutdown: TERM waits for every client to leave (postgres(1))
    end
  end

  # MariaDB, small.
  class Mariadb < Service
    def socket
      File.join(@folder, "mariadb.sock")
    end

    private

    def user
      "mysql"
    end

    def installer
      find("mariadb-install-db") || find("mysql_install_db")
    end

    def server
      find("mariadbd") || find("mysqld")
    end

    def programs
      [installer, server]
    end

    def prepare
      run(installer, "--no-defaults", "--datadir=#{data}",
          "--auth-root-authentication-method=normal", "--innodb-log-file-size=8M")
    end

    def data
      File.join(@folder, "data")
    end

    def command
      [
        server, "--no-defaults", "--datadir=#{data}", "--socket=#{socket}", "--port=#{port}",
        "--bind-address=#{HOST}", "--pid-file=#{File.join(@folder, "pid")}",
        "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M",
        "--max-connections=#{@max_connections}", *tls
      ]
    end

    def tls
      return [] unless @tls

      ["--ssl-cert=#{ca_file}", "--ssl-key=#{File.join(@folder, KEY)}", "--ssl-ca=#{ca_file}"]
    end

    def ready
      /ready for connections/
    end
  end

  # Redis.
  class Redis < Service
    def url
      "redis://#{host}:#{port}/0"
    end

    private

    def user
      "redis"
    end

    def programs
      [find("redis-server")]
    end

    def prepare; end

    def command
      [find("redis-server"), "--bind", HOST, "--port", port.to_s, "--dir", @folder,
       "--save", "", "--appendonly", "no"]
    end

    def ready
      /ready to accept connections/i
    end
  end
end

require "timeout"
