# frozen_string_literal: true

# The I/O loop for a configuration: an engine with its routes, folders and open addresses, not
# started; and the thread that makes log entries of its lines, if the log's format needs it. Used by
# a server of one process and by the front of several workers.

require "neverblock/algorithms"
require "neverblock/downloads/reader"
require "neverblock/server/admin_commands"
require "neverblock/server/lane_rules"
require "neverblock/log/core_lines"
require "neverblock/server/folders"
require "neverblock/server/inheritance"
require "neverblock/server/listening"
require "neverblock/tls/acme"
require "neverblock/tls/listeners"
require "neverblock/version"

module NeverBlock
  class Server
    class IoLoop
      # Most threads of one lane in all processes: half of the engine's limit (core/base/limits.h),
      # since a reload doubles the number of processes for a while.
      THREADS_MAX = 256
      # What browsers are shown at the admin address; bin/live-page makes it.
      LIVE_PAGE = File.expand_path("../watch/live.html", __dir__)

      # @return [Engine]
      attr_reader :engine
      # @return [Array<Integer>] the number of its lane for each thread of a lane in a process
      attr_reader :lanes
      # @return [Array<String>] addresses with their real ports
      attr_reader :urls
      # @return [String, nil] the admin address with its real port
      attr_reader :admin_url

      # @param config [Config]
      # @param log [Log]
      # @param native [Module] the module of Engine
      # @param processes [Integer] number of processes that run requests
      # @param on_download [#call, nil] receives download reports, instead of the configuration's
      #   blocks
      # @param commands [Hash{String => #call}, nil] what clients of the admin address may ask for,
      #   with its token; see Control#initialize
      # @param inheritance [Inheritance] sockets that addresses take
      # @param settings [Hash] further settings of the engine
      # @raise [StartError] when it cannot listen on an address; nothing is left open then
      def initialize(config, log, native: NeverBlock, on_download: nil, processes: 1, commands: nil,
                     inheritance: Inheritance.new, **settings)
        @native = native
        @log = log
        @inheritance = inheritance
        check_compression(config)
        @core_lines = core_lines(config)
        @engine = make_engine(config, redirect(config).merge(settings))
        @lanes = []
        @processes = processes
        config.routes.each { |route| add_route(route, config.settings.fetch(:queue_max)) }
        add_own_lanes(config)
        config.compressed_types.each { |type| @engine.compress_type(type) }
        Folders.new(@engine).open(config.files)
        @downloads = reader(config, on_download)
        @tls = TLS::Listeners.new(@engine, @log, config, native: native)
        @acme = TLS::Acme.new(@engine, @tls, config, @log) if TLS::Acme.wanted?(config)
        @urls = listen(config.binds, config.backlog, tls: @tls).freeze
        listen_admin(config, commands) if config.admin
        @inheritance.close_rest.each { |line| @log.warn(line) }
        @tls.follow
      rescue StandardError
        @downloads&.close
        @admin_commands&.close
        @engine&.close
        @core_lines&.close
        raise
      end

      # @return [Integer] how many processes have places for their threads of each lane, with as
      #   many again in a reload
      def processes_max
        THREADS_MAX / @lanes.tally.values.max.to_i.clamp(1, THREADS_MAX)
      end

      # Replaces the application's lane rules. Thread-safe.
      # @param rules [Array<LaneRules::Rule>]
      # @return [void]
      def lane_rules=(rules)
        return unless @held_lane

        rules = bounded(rules)
        @engine.lane_rules = rules.map do |rule|
          [bits(rule.methods), rule.pattern, rule.held ? @held_lane : 0]
        end
        line = LaneRules.log_line(rules)
        @log.info(line) if line && line != @lanes_logged
        @lanes_logged = line
      end

      # Starts the loop, and what renews certificates.
      # @return [void]
      def start
        @engine.start
        @admin_commands&.start
        @acme&.start
      end

      # Has the files of certificates read anew, and certificates asked for that were not issued.
      # Returns at once. Thread-safe.
      # @return [Boolean] whether there are any
      def renew_certificates
        @acme&.ask
        @tls.ask
      end

      # @return [Array<Integer>] copies of the descriptors of all listening sockets, the caller's
      # @raise [SystemCallError]
      def copy_listeners
        @engine.copy_listeners
      end

      # Another process listens at the sockets: their files are not removed.
      # @return [void]
      def keep_paths
        @engine.keep_paths
      end

      # @return [Boolean] whether socket files are another program's to remove
      def keeps_paths?
        @inheritance.keeps_paths?
      end

      # @return [Integer] requests whose client got no whole response, also after the loop's end
      def aborted
        @aborted || @engine.stats[:aborted].to_i
      end

      # Waits for the loop's end and frees it. To be called when no executor uses it any more.
      # @return [void]
      def close
        @engine.join
        @aborted = aborted
        @acme&.close
        @tls.close
        @downloads&.close
        @admin_commands&.close
        @engine.close
        @core_lines&.close
      end

      private

      def listen_admin(config, commands)
        @admin_url = listen([config.admin], config.backlog, admin: true).first
        name = config.admin.host && Addresses.new.own_name(config.admin.host)
        @engine.admin_host = name if name
        @engine.admin_page = File.binread(LIVE_PAGE) if File.file?(LIVE_PAGE)
        @engine.admin_token = config.admin_token if config.admin_token
        @admin_commands = AdminCommands.new(@engine, @admin_url, commands, @log)
      end

      def core_lines(config)
        return unless config.log_format == :json || config.log_requests

        Log::CoreLines.new(@log, RequestLog.shape(config, @log))
      end

      def make_engine(config, settings)
        log = { log_fd: @core_lines&.fileno }.compact
        versions = { version: VERSION, ruby_version: RUBY_VERSION }
        @native::Engine.new(**config.engine_options, **settings, **versions, **log)
      end

      # @raise [ConfigError] where there is no https address
      def redirect(config)
        return {} unless config.redirect_https

        secure = config.binds.find(&:https?) or
          raise ConfigError, "redirect_https is on, and there is no https address to send " \
                             "requests to; bind one: https://HOST:PORT?cert=FILE&key=FILE"
        if secure.port.zero?
          raise ConfigError, "redirect_https needs the port of #{secure}; name it"
        end

        { redirect_port: secure.port }
      end

      def reader(config, on_download)
        return unless Downloads::Reader.wanted?(config)

        Downloads::Reader.new(@engine, config, @log, workers: on_download).start
      end

      def listen(binds, backlog, **options)
        listening = Listening.new(@engine, backlog, inheritance: @inheritance, **options)
        listening.open(binds).tap { listening.left_out.each { |line| @log.warn(line) } }
      end

      def add_route(route, queue)
        lane = add_lane(threads_of(route), route.queue || queue) if route.lane
        lane = 0 if route.in_fibers
        algorithm = route.algorithm && Algorithms.number(route.algorithm)
        @engine.route(route.pattern, route.input == :stream, route.cancel_on_disconnect, algorithm,
                      route.rate, lane, compress_number(route))
      end

      # As many as the route says, if that many fit in each process.
      def threads_of(route)
        threads = [route.at_once, threads_max].min
        return threads if threads == route.at_once

        @log.warn("route #{route.pattern.inspect} at_once: a lane has at most #{THREADS_MAX} " \
                  "threads in all #{@processes} workers; each has #{threads} of them, and not " \
                  "#{route.at_once}")
        threads
      end

      def threads_max
        (THREADS_MAX / @processes).clamp(1, THREADS_MAX)
      end

      def compress_number(route)
        Config::Catalog[:compress].to_engine(route.compress) unless route.compress.nil?
      end

      # @raise [ConfigError] where responses are to be compressed, and the build has no library
      def check_compression(config)
        return unless config.compresses?
        return if @native.built.values_at(:gzip, :br, :zstd).any?

        raise ConfigError, "compress is on, and the native part was built without zlib, brotli " \
                           "and zstd; install zlib's development files (zlib1g-dev), and " \
                           "install the gem again"
      end

      def add_lane(threads, queue)
        @engine.lane(threads, queue).tap { |lane| @lanes.concat([lane] * threads) }
      end

      # A lane for requests that the application holds together, one at a time, and one for request
      # classes that have stalled.
      def add_own_lanes(config)
        queue = config.settings.fetch(:queue_max)
        @held_lane = add_lane(1, queue) if config.own_lanes
        return unless config.learns_lanes?

        @engine.learn_lanes(add_lane([threads_max, Config::Route::AT_ONCE].min, queue))
      end

      def bounded(rules)
        bytes = 0
        rules.first(LaneRules::MAX).take_while do |rule|
          (bytes += rule.pattern.bytesize) <= LaneRules::TEXT_BYTES_MAX
        end
      end

      def bits(methods)
        known = @native::Engine::LANE_METHODS
        return known.values.sum if methods.include?("ALL")

        sum = methods.sum { |name| known.fetch(name, 0) }
        sum.zero? ? known.fetch("OTHER") : sum
      end
    end
  end
end
