# frozen_string_literal: true

# Everything a server is told: where to listen, how many requests run at once, every limit and timeout of the I/O loop. Checked when made and frozen,
# so that whoever holds one need not ask again. Defaults are those of the interface.

require "neverblock/errors"
require "neverblock/config/catalog"
require "neverblock/config/files"

module NeverBlock
  class Config
    DEFAULT_BIND = Catalog[:bind].default
    DEFAULT_FIBERS = Catalog[:fibers].default
    DEFAULT_BACKLOG = Catalog[:backlog].default
    DEFAULT_SPARES = Catalog[:"executor.spares"].default
    FIBERS_MAX = Catalog::FIBERS_MAX
    EXECUTORS_MAX = 64
    U32 = Catalog::U32

    # The I/O loop's settings by the engine's names and in its units: name => [default, what is allowed]. The same list as NB_SERVER_SETTINGS in
    # core/loop/settings.h.
    SETTINGS = Catalog::ENGINE.to_h { |row| [row.engine, [row.to_engine(row.default), row.engine_range].freeze] }.freeze

    # @param text [String, Integer] what was given
    # @param allowed [Range]
    # @param what [String] what to call it in the complaint
    # @return [Integer]
    # @raise [ConfigError]
    def self.integer(text, allowed, what)
      Type::Whole.new(allowed).read(text, what)
    end

    # @return [Array<Bind>] never empty
    attr_reader :binds
    # @return [Bind, nil] where the admin pages are; nil: nowhere
    attr_reader :admin
    # @return [Integer] most requests running at once in this process
    attr_reader :fibers
    # @return [Integer] executor threads that share the fibers
    attr_reader :executors
    # @return [Integer] executor threads that help out while one is blocked in a call
    attr_reader :spares
    # @return [Integer, nil] milliseconds a fiber runs while others wait; nil: until it waits
    attr_reader :slice_ms
    # @return [Integer] as for listen(2); the kernel's net.core.somaxconn may lower it
    attr_reader :backlog
    # @return [Hash{Symbol => Integer}] see SETTINGS
    attr_reader :settings
    # @return [String, nil] where request bodies over 64 KB go; nil: TMPDIR or /tmp
    attr_reader :spool_directory
    # @return [String, nil] name of the poller; nil: the best there is
    attr_reader :poller
    # @return [Integer] descriptor of the log
    attr_reader :log_fd

    # @return [Symbol] :text or :json
    attr_reader :log_format
    # @return [Boolean, Symbol] whether each request gets an entry; :json: as JSON, whatever the others are
    attr_reader :log_requests

    # @return [Integer] after which a fiber that keeps its executor is a stall; 0: never
    attr_reader :stall_ms

    # @return [Array<Route>] the first that matches wins
    attr_reader :routes

    # @return [Boolean] whether applications are given rack.early_hints
    attr_reader :early_hints

    # @return [Boolean] whether there are lanes beside those of routes: for what the application holds, and for what is learned
    attr_reader :own_lanes

    # @return [Files] what it serves of the disk
    attr_reader :files
    # @return [String, nil] where results of downloads are posted
    attr_reader :report
    # @return [Array<#call>] what is called with them
    attr_reader :on_download

    # @param binds [Array<String, Bind>] URLs, see Bind; default http://127.0.0.1:9292
    # @param admin [String, Bind, nil] URL of the admin pages; default none
    # @param fibers [Integer] default 1024
    # @param executors [Integer] default 1
    # @param spares [Integer] default 4
    # @param slice_ms [Integer, nil] default 10; nil: fibers switch only where they wait
    # @param backlog [Integer] default 1024
    # @param log_format [Symbol] :text (default) or :json
    # @param log_requests [Boolean, Symbol] default false
    # @param stall_ms [Integer] default 100
    # @param early_hints [Boolean] default false
    # @param own_lanes [Boolean] default true; false: the application is not safe on several threads
    # @param learn_lanes [Boolean] whether requests like those that have stalled go to a lane; default true
    # @param routes [Array<Route, Array(String, Hash)>] see Route.read; default none
    # @param files [Files, Hash] see Files.new; default none
    # @param report [String, nil] URL to which results of downloads are posted
    # @param on_download [Array<#call>] called with each Downloads::Report
    # @param settings [Hash] any of SETTINGS
    # @raise [ConfigError]
    def initialize(binds: [DEFAULT_BIND], admin: nil, fibers: DEFAULT_FIBERS, executors: 1, spares: DEFAULT_SPARES, backlog: DEFAULT_BACKLOG, spool_directory: nil, poller: nil,
                   log_fd: 2, log_format: :text, log_requests: false, stall_ms: Catalog[:"executor.stall_ms"].default, routes: [], files: {}, report: nil, on_download: [],
                   early_hints: false, own_lanes: true, learn_lanes: Catalog[:learn_lanes].default, slice_ms: Catalog[:"executor.slice_ms"].default, **settings)
      @binds = Array(binds).map { |bind| Bind.parse(bind) }.freeze
      raise ConfigError, "binds is empty: name at least one address" if @binds.empty?

      @admin = admin && Bind.parse(admin)
      @executors = self.class.integer(executors, 1..EXECUTORS_MAX, "executors")
      @fibers = self.class.integer(fibers, @executors..FIBERS_MAX, "fibers")
      @spares = self.class.integer(spares, Catalog[:"executor.spares"].type.range, "spares")
      @slice_ms = slice_ms && Catalog[:"executor.slice_ms"].read(slice_ms)
      @backlog = self.class.integer(backlog, 1..65_535, "backlog")
      @settings = checked(settings).freeze
      @given = settings.keys.freeze
      @spool_directory = spool_directory
      @poller = poller
      @log_fd = log_fd
      @log_format = Catalog[:log_format].read(log_format)
      @log_requests = Catalog[:log_requests].read(log_requests)
      @stall_ms = Catalog[:"executor.stall_ms"].read(stall_ms)
      @early_hints = Catalog[:early_hints].read(early_hints)
      @own_lanes = own_lanes
      @learn_lanes = learn_lanes
      @routes = routes.map { |route| Catalog[:route].read(route) }.freeze
      @report = report && Catalog[:"sendfile.report"].read(report)
      @on_download = on_download.dup.freeze
      @files = files.is_a?(Files) ? files : Files.new(**files)
      freeze
    end

    # Keywords for the native engine: the settings that were given; the others are its own defaults.
    # @return [Hash{Symbol => Object}]
    def engine_options
      refused = log_requests ? { log_refused: 1 } : {}
      settings.slice(*@given).merge(spool_directory: spool_directory, poller: poller, log_fd: log_fd, **refused)
    end

    # @return [Hash{Symbol => Object}] keywords for a native executor
    def executor_options
      { slice_ms: slice_ms, **(early_hints ? { early_hints: true } : {}), **files.executor_options }
    end

    # @return [Boolean] whether lanes are learned, which takes stalls that are seen. Not in development, where requests stall while their code is loaded
    def learns_lanes?
      own_lanes && @learn_lanes && stall_ms.positive? && !ENV.values_at("RACK_ENV", "RAILS_ENV").include?("development")
    end

    # @return [Float] seconds
    def shutdown_timeout
      settings.fetch(:shutdown_timeout_ms) / 1000.0
    end

    private

    def checked(given)
      unknown = given.keys - SETTINGS.keys
      raise ConfigError, "unknown setting #{unknown.first}; there are #{SETTINGS.keys.join(", ")}" unless unknown.empty?

      SETTINGS.to_h do |name, (default, allowed)|
        [name, self.class.integer(given.fetch(name, default), allowed, name.to_s)]
      end
    end
  end
end
