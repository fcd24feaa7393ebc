# frozen_string_literal: true

# Everything a server is told: where to listen, how many requests run at once, every limit and timeout of the I/O loop. Checked when made and frozen,
# so that whoever holds one need not ask again. Defaults are those of the interface.

require "neverblock/errors"
require "neverblock/config/catalog"

module NeverBlock
  class Config
    DEFAULT_BIND = Catalog[:bind].default
    DEFAULT_FIBERS = Catalog[:fibers].default
    DEFAULT_BACKLOG = Catalog[:backlog].default
    FIBERS_MAX = Catalog::FIBERS_MAX
    EXECUTORS_MAX = 64
    U32 = Catalog::U32

    # The I/O loop's settings by the engine's names and in its units: name => [default, what is allowed]. The same list as NB_SERVER_SETTINGS in
    # core/server/server.h.
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

    # @return [Array<Route>] the first that matches wins
    attr_reader :routes

    # @param binds [Array<String, Bind>] URLs, see Bind; default http://127.0.0.1:9292
    # @param admin [String, Bind, nil] URL of the admin pages; default none
    # @param fibers [Integer] default 1024
    # @param executors [Integer] default 1
    # @param backlog [Integer] default 1024
    # @param log_format [Symbol] :text (default) or :json
    # @param log_requests [Boolean, Symbol] default false
    # @param routes [Array<Route, Array(String, Hash)>] see Route.read; default none
    # @param settings [Hash] any of SETTINGS
    # @raise [ConfigError]
    def initialize(binds: [DEFAULT_BIND], admin: nil, fibers: DEFAULT_FIBERS, executors: 1, backlog: DEFAULT_BACKLOG, spool_directory: nil, poller: nil,
                   log_fd: 2, log_format: :text, log_requests: false, routes: [], **settings)
      @binds = Array(binds).map { |bind| Bind.parse(bind) }.freeze
      raise ConfigError, "binds is empty: name at least one address" if @binds.empty?

      @admin = admin && Bind.parse(admin)
      @executors = self.class.integer(executors, 1..EXECUTORS_MAX, "executors")
      @fibers = self.class.integer(fibers, @executors..FIBERS_MAX, "fibers")
      @backlog = self.class.integer(backlog, 1..65_535, "backlog")
      @settings = checked(settings).freeze
      @given = settings.keys.freeze
      @spool_directory = spool_directory
      @poller = poller
      @log_fd = log_fd
      @log_format = Catalog[:log_format].read(log_format)
      @log_requests = Catalog[:log_requests].read(log_requests)
      @routes = routes.map { |route| Catalog[:route].read(route) }.freeze
      freeze
    end

    # Keywords for the native engine: the settings that were given; the others are its own defaults.
    # @return [Hash{Symbol => Object}]
    def engine_options
      refused = log_requests ? { log_refused: 1 } : {}
      settings.slice(*@given).merge(spool_directory: spool_directory, poller: poller, log_fd: log_fd, **refused)
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
