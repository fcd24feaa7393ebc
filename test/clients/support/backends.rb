# frozen_string_literal: true

# The servers of the libraries: our HTTP process and, from Debian, Redis, memcached and RabbitMQ.
# Each starts once, when it is first needed, on free loopback ports, and ends with the test process.
# A missing server is a reason to skip, not a failure.

require "json"
require "rbconfig"
require "support/services"
require "tmpdir"

module Services
  # memcached, which says at -v that it listens.
  class Memcached < Service
    private

    def user
      "memcache"
    end

    def programs
      [find("memcached")]
    end

    def prepare; end

    def command
      [find("memcached"), "-l", HOST, "-p", port.to_s, "-U", "0", "-c", "4096", "-m", "32", "-vv"]
    end

    def ready
      /server listening/
    end
  end

  # One RabbitMQ node without clustering, with a port mapper (epmd) of its own. Otherwise Erlang
  # starts one for the machine and leaves it running.
  class Rabbitmq < Service
    def start
      @names = free_port
      @distribution = free_port
      super
    end

    def stop
      super
    ensure
      end_mapper
    end

    private

    def user
      "rabbitmq"
    end

    def programs
      [server, find("epmd")]
    end

    # The program itself. /usr/sbin/rabbitmq-server is a wrapper for root and rabbitmq only.
    def server
      ["/usr/lib/rabbitmq/bin/rabbitmq-server"].find { |path| File.executable?(path) } ||
        find("rabbitmq-server")
    end

    def prepare
      File.write(File.join(@folder, "plugins"), "[].\n")
      FileUtils.chown(owner, nil, File.join(@folder, "plugins")) if owner
      @mapper = Process.spawn(environment,
                              *as_owner([find("epmd"), "-port", @names.to_s, "-address", HOST]),
                              %i[in out err] => File::NULL)
    end

    def end_mapper
      Process.kill("TERM", @mapper) if @mapper
      Process.wait(@mapper) if @mapper
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    ensure
      @mapper = nil
    end

    def command
      [server]
    end

    def environment
      super.merge("RABBITMQ_NODENAME" => "nb#{@names}@localhost",
                  "RABBITMQ_NODE_IP_ADDRESS" => HOST, "RABBITMQ_NODE_PORT" => @port.to_s,
                  "RABBITMQ_DIST_PORT" => @distribution.to_s, "ERL_EPMD_PORT" => @names.to_s,
                  "ERL_EPMD_ADDRESS" => HOST,
                  "RABBITMQ_MNESIA_BASE" => File.join(@folder, "data"),
                  "RABBITMQ_LOG_BASE" => File.join(@folder, "log"), "RABBITMQ_LOGS" => "-",
                  "RABBITMQ_ENABLED_PLUGINS_FILE" => File.join(@folder, "plugins"),
                  "RABBITMQ_CONF_ENV_FILE" => File::NULL,
                  "RABBITMQ_CONFIG_FILE" => File.join(@folder, "none"),
                  "RABBITMQ_PID_FILE" => File.join(@folder, "pid"))
    end

    def ready
      /Server startup complete/
    end
  end
end

module Clients
  class Backends
    STOP_S = 5
    KINDS = { redis: Services::Redis, memcached: Services::Memcached, rabbitmq: Services::Rabbitmq,
              postgresql: Services::Postgresql }.freeze
    OPTIONS = { postgresql: { tls: true } }.freeze

    # @param names [Array<Symbol>] of KINDS
    # @return [Hash{String => Object}] ports and files for a library's process
    # @raise [Services::Unavailable] when one of them cannot be had here
    def for(names)
      names.flat_map { |name|
        [[name.to_s, service(name).port], ["#{name}_folder", service(name).folder]]
      }.to_h.merge(own)
    end

    # Ends what was started.
    def stop
      @started&.each_value { |service| service.stop if service.is_a?(Services::Service) }
      stop_own if @own
    end

    private

    def service(name)
      @started ||= {}
      started = @started[name] ||= start(KINDS.fetch(name).new(**OPTIONS.fetch(name, {})))
      raise started if started.is_a?(Exception)

      started
    end

    def start(service)
      service.start
    rescue Services::Unavailable => e
      e
    end

    def own
      @own ||= begin
        @folder = Dir.mktmpdir("nb-clients-")
        @process = IO.popen([RbConfig.ruby, File.join(__dir__, "../services/main.rb"), @folder],
                            "r+")
        JSON.parse(@process.gets)
      end
    end

    # It ends with its standard input.
    def stop_own
      @process.close_write
      Process.kill("KILL", @process.pid) unless @process.wait_readable(STOP_S)
      @process.close
      FileUtils.remove_entry(@folder)
    end
  end
end
