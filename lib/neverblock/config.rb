# frozen_string_literal: true

# The configuration of one server: where it listens, how many requests run at once, and every limit
# and timeout of the I/O loop. A Config is checked when it is made, and frozen.

require "neverblock/errors"
require "neverblock/config/catalog"
require "neverblock/config/files"
require "neverblock/config/secure"

module NeverBlock
  class Config
    DEFAULT_BIND = Catalog[:bind].default
    DEFAULT_FIBERS = Catalog[:fibers].default
    DEFAULT_BACKLOG = Catalog[:backlog].default
    DEFAULT_SPARES = Catalog[:"executor.spares"].default
    FIBERS_MAX = Catalog::FIBERS_MAX
    EXECUTORS_MAX = 64
    U32 = Catalog::U32

    # The I/O loop's settings, by the engine's names and in its units: name => [default, allowed
    # range]. The same list as NB_SERVER_SETTINGS in core/loop/settings.h.
    SETTINGS = Catalog::ENGINE.to_h do |row|
      [row.engine, [row.to_engine(row.default), row.engine_range].freeze]
    end.freeze

    # @param text [String, Integer] the value to read
    # @param allowed [Range]
    # @param what [String] the setting's name in the error message
    # @return [Integer]
    # @raise [ConfigError]
    def self.integer(text, allowed, what)
      Type::Whole.new(allowed).read(text, what)
    end

    # @return [Array<Bind>] never empty
    attr_reader :binds
    # @return [Bind, nil] the address of the admin pages; nil: there are none
    attr_reader :admin
    # @return [String, nil] who has it may change the server at the admin address; nil: nobody may
    attr_reader :admin_token
    # @return [Integer] most requests running at once in this process
    attr_reader :fibers
    # @return [Integer] executor threads that share the fibers
    attr_reader :executors
    # @return [Integer] standby executors that take over while one is blocked in a call
    attr_reader :spares
    # @return [Integer, nil] time slice of a fiber in milliseconds; nil: a fiber runs until it waits
    attr_reader :slice_ms
    # @return [Integer] the backlog for listen(2); the kernel's net.core.somaxconn may lower it
    attr_reader :backlog
    # @return [Hash{Symbol => Integer}] see SETTINGS
    attr_reader :settings
    # @return [String, nil] folder of request bodies over 64 KB; nil: TMPDIR or /tmp
    attr_reader :spool_directory
    # @return [String, nil] name of the poller; nil: the best one of this system
    attr_reader :poller
    # @return [Integer] file descriptor of the log
    attr_reader :log_fd

    # @return [Symbol] :text or :json
    attr_reader :log_format
    # @return [Boolean, Symbol] whether each request is logged; :json: as JSON, whatever log_format
    #   is
    attr_reader :log_requests

    # @return [Integer] milliseconds one fiber may occupy its executor before it is a stall; 0: no
    #   limit
    attr_reader :stall_ms

    # @return [Symbol] what the log has of a stall's backtrace: :own, lines of the application;
    #   :whole
    attr_reader :stall_trace

    # @return [Array<Route>] the first that matches wins
    attr_reader :routes

    # @return [Boolean] whether env has rack.early_hints
    attr_reader :early_hints

    # @return [Boolean, String] whether responses have Server-Timing; a String: those to requests
    #   that bring this secret
    attr_reader :server_timing

    # @return [Boolean] whether there are lanes that no route declares: for objects of the
    #   application that need one, and for request classes that have stalled
    attr_reader :own_lanes
    # @return [Boolean] whether requests are tasks of the gem async
    attr_reader :async

    # @return [Files] the folders and rules of the file server
    attr_reader :files
    # @return [Boolean] whether requests of plain addresses are sent to the first https address
    attr_reader :redirect_https
    # @return [Secure] what https addresses share
    attr_reader :secure
    # @return [Array<String>] media types that are compressed; empty: the usual ones
    attr_reader :compressed_types
    # @return [String, nil] URL to which results of downloads are posted
    attr_reader :report
    # @return [Array<#call>] called with each result of a download
    attr_reader :on_download

    # @param binds [Array<String, Bind>] URLs, see Bind; default http://127.0.0.1:9292
    # @param admin [String, Bind, nil] URL of the admin pages; nil (default): none
    # @param admin_token [String, nil] 16 to 256 printable characters; nil (default): none
    # @param fibers [Integer] default 1024
    # @param executors [Integer] default 1
    # @param spares [Integer] default 4
    # @param slice_ms [Integer, nil] default 10; nil: fibers switch only where they wait
    # @param backlog [Integer] default 1024
    # @param log_format [Symbol] :text (default) or :json
    # @param log_requests [Boolean, Symbol] default false
    # @param stall_ms [Integer] default 100
    # @param stall_trace [Symbol] :own (default) or :whole
    # @param early_hints [Boolean] default false
    # @param server_timing [Boolean, String] default false
    # @param own_lanes [Boolean] default true; false: the application is not safe on several threads
    # @param async [Boolean] default false; true: requests are tasks of the gem async
    # @param learn_lanes [Boolean] whether request classes that have stalled run on a lane; default
    #   true
    # @param routes [Array<Route, Array(String, Hash)>] see Route.read; default none
    # @param files [Files, Hash] see Files.new; default none
    # @param redirect_https [Boolean] default false
    # @param secure [Secure] default: none of its settings
    # @param compressed_types [Array<String>] default: the usual ones
    # @param report [String, nil] URL to which results of downloads are posted
    # @param on_download [Array<#call>] called with each Downloads::Report
    # @param settings [Hash] any of SETTINGS
    # @raise [ConfigError]
    def initialize(binds: [DEFAULT_BIND], admin: nil, admin_token: nil,
                   fibers: DEFAULT_FIBERS, executors: 1,
                   spares: DEFAULT_SPARES, backlog: DEFAULT_BACKLOG,
                   slice_ms: Catalog[:"executor.slice_ms"].default,
                   stall_ms: Catalog[:"executor.stall_ms"].default,
                   stall_trace: Catalog[:"executor.stall_trace"].default,
                   spool_directory: nil, poller: nil,
                   log_fd: 2, log_format: :text, log_requests: false,
                   early_hints: false, server_timing: false, own_lanes: true, async: false,
                   learn_lanes: Catalog[:learn_lanes].default,
                   routes: [], files: {}, secure: Secure.new, redirect_https: false,
                   compressed_types: [], report: nil, on_download: [],
                   **settings)
      @binds = Array(binds).map { |bind| Bind.parse(bind) }.freeze
      raise ConfigError, "binds is empty: name at least one address" if @binds.empty?

      @admin = admin && Bind.parse_plain(admin)
      refuse_shared_address
      @admin_token = admin_token && Catalog[:admin_token].read(admin_token)
      @executors = self.class.integer(executors, 1..EXECUTORS_MAX, "executors")
      @fibers = self.class.integer(fibers, @executors..FIBERS_MAX, "fibers")
      @spares = self.class.integer(spares, Catalog[:"executor.spares"].type.range, "spares")
      @slice_ms = slice_ms && Catalog[:"executor.slice_ms"].read(slice_ms)
      @backlog = self.class.integer(backlog, 1..65_535, "backlog")
      @settings = checked(settings).freeze
      @explicit = settings.keys.freeze
      @spool_directory = spool_directory
      @poller = poller
      @log_fd = log_fd
      @log_format = Catalog[:log_format].read(log_format)
      @log_requests = Catalog[:log_requests].read(log_requests)
      @stall_ms = Catalog[:"executor.stall_ms"].read(stall_ms)
      @stall_trace = Catalog[:"executor.stall_trace"].read(stall_trace)
      @early_hints = Catalog[:early_hints].read(early_hints)
      @server_timing = Catalog[:server_timing].read(server_timing)
      @own_lanes = own_lanes
      @async = async
      @learn_lanes = learn_lanes
      @routes = routes.map { |route| Catalog[:route].read(route) }.freeze
      Route.check_lanes(@routes, own_lane_count)
      @compressed_types = compressed_types.dup.freeze
      @report = report && Catalog[:"sendfile.report"].read(report)
      @on_download = on_download.dup.freeze
      @secure = secure
      @binds.each { |bind| @secure.clients_of(bind) if bind.https? }
      @redirect_https = redirect_https
      @files = files.is_a?(Files) ? files : Files.new(**files)
      freeze
    end

    # Keywords for the native engine. Settings that nobody has set are left to the engine's
    # defaults.
    # @return [Hash{Symbol => Object}]
    def engine_options
      refused = log_requests ? { log_refused: 1 } : {}
      own = { spool_directory: spool_directory, poller: poller, log_fd: log_fd }
      settings.slice(*@explicit).merge(own, refused)
    end

    # @return [Hash{Symbol => Object}] keywords for a native executor
    def executor_options
      { slice_ms: slice_ms, **(async ? { async: true } : {}),
        **(early_hints ? { early_hints: true } : {}),
        **(logs_times? ? { request_times: true } : {}),
        **(server_timing ? { server_timing: server_timing } : {}), **files.executor_options }
    end

    # @return [Boolean] whether entries of requests say where their time went
    def logs_times?
      log_requests == :json || (log_requests && log_format == :json)
    end

    # Lanes are learned from stalls, so stalls must be watched. In development, requests stall while
    # their code is loaded, so nothing is learned.
    # @return [Boolean] whether request classes that have stalled run on a lane
    def learns_lanes?
      own_lanes && @learn_lanes && stall_ms.positive? && !development?
    end

    # @return [Boolean] whether responses to some requests are compressed
    def compresses?
      settings.fetch(:compress).positive? || routes.any?(&:compress)
    end

    # @return [Float] seconds
    def shutdown_timeout
      settings.fetch(:shutdown_timeout_ms) / 1000.0
    end

    # @return [Boolean] whether a certificate may be made for an https address that names none: not
    #   in production, nor in any environment of another name than these
    def makes_certificates?
      (ENV.values_at("RACK_ENV", "RAILS_ENV").compact - %w[development test]).empty?
    end

    private

    # Told before the application is loaded: else the port would be busy, held by the server itself.
    def refuse_shared_address
      shared = admin && binds.find { |bind| bind.overlaps?(admin) } or return
      raise ConfigError, "admin #{admin} and bind #{shared} are the same address: the admin " \
                         "pages (--admin) need one of their own, the application has -p or -b"
    end

    # The same in development, so that a configuration holds in production too.
    def own_lane_count
      return 0 unless own_lanes

      @learn_lanes && stall_ms.positive? ? 2 : 1
    end

    def development?
      ENV.values_at("RACK_ENV", "RAILS_ENV").include?("development")
    end

    def checked(given)
      unknown = given.keys - SETTINGS.keys
      unless unknown.empty?
        raise ConfigError, "unknown setting #{unknown.first}; known are #{SETTINGS.keys.join(", ")}"
      end

      SETTINGS.to_h do |name, (default, allowed)|
        [name, self.class.integer(given.fetch(name, default), allowed, name.to_s)]
      end
    end
  end
end
