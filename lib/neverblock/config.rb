# frozen_string_literal: true

# Everything a server is told: where to listen, how many requests run at once, every limit and timeout of the I/O loop. Checked when made and frozen,
# so that whoever holds one need not ask again. Defaults are those of the interface.

require "neverblock/errors"

module NeverBlock
  class Config
    DEFAULT_BIND = "http://127.0.0.1:9292"
    DEFAULT_FIBERS = 1024
    DEFAULT_BACKLOG = 1024
    # A fiber costs two maps and some 13 KB; a million is past any machine's maps, so more is a slip of the hand.
    FIBERS_MAX = 1_000_000
    EXECUTORS_MAX = 64
    U32 = 4_294_967_295

    # The I/O loop's settings: name => [default, what is allowed]. The same list as NB_SERVER_SETTINGS in core/server/server.h; bounds of the
    # core's own (core/base/limits.h) cap two of them.
    SETTINGS = {
      header_timeout_ms: [10_000, 1..U32],            # for a whole head, from its first byte
      body_timeout_ms: [30_000, 1..U32],              # window in which a body or a response must move rate_min
      idle_timeout_ms: [65_000, 1..U32],              # between requests of a connection
      shutdown_timeout_ms: [30_000, 0..U32],          # after drain: what is not done by then is cut
      rate_min: [500, 0..U32],                        # bytes a second a transfer must make within a window
      header_bytes_max: [65_536, 256..262_144],       # NB_HEAD_BYTES_MAX
      headers_max: [100, 1..256],                     # NB_HEADERS_MAX
      body_bytes_max: [104_857_600, 0..(1 << 62)],
      spool_bytes_max: [1_073_741_824, 0..(1 << 62)], # all bodies in temporary files together
      connections_max: [10_000, 1..1_000_000],
      queue_max: [1_000, 0..1_000_000],               # requests that wait for an executor; more: 503
      credit: [256, 1..65_536],                       # requests given to one executor ahead of its running them
      response_backlog_bytes: [1_048_576, 1..U32],    # of one response, before its writer parks
      file_workers: [2, 1..256],
      guest_turns: [1, 0..1]                          # 1: an idle executor may run the I/O loop's turns itself
    }.freeze

    # @param text [String, Integer] what was given
    # @param allowed [Range]
    # @param what [String] what to call it in the complaint
    # @return [Integer]
    # @raise [ConfigError]
    def self.integer(text, allowed, what)
      number = text if text.is_a?(Integer)
      number = Integer(text, 10) if text.is_a?(String) && text.match?(/\A[0-9]{1,18}\z/)
      return number if number && allowed.cover?(number)

      raise ConfigError, "#{what} is a whole number from #{allowed.begin} to #{allowed.end}; seen #{text.inspect}"
    end

    # @return [Array<Bind>] never empty
    attr_reader :binds
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

    # @param binds [Array<String, Bind>] URLs, see Bind; default http://127.0.0.1:9292
    # @param fibers [Integer] default 1024
    # @param executors [Integer] default 1
    # @param backlog [Integer] default 1024
    # @param settings [Hash] any of SETTINGS
    # @raise [ConfigError]
    def initialize(binds: [DEFAULT_BIND], fibers: DEFAULT_FIBERS, executors: 1, backlog: DEFAULT_BACKLOG, spool_directory: nil, poller: nil,
                   log_fd: 2, **settings)
      @binds = Array(binds).map { |bind| Bind.parse(bind) }.freeze
      raise ConfigError, "binds is empty: name at least one address" if @binds.empty?

      @executors = self.class.integer(executors, 1..EXECUTORS_MAX, "executors")
      @fibers = self.class.integer(fibers, @executors..FIBERS_MAX, "fibers")
      @backlog = self.class.integer(backlog, 1..65_535, "backlog")
      @settings = checked(settings).freeze
      @given = settings.keys.freeze
      @spool_directory = spool_directory
      @poller = poller
      @log_fd = log_fd
      freeze
    end

    # Keywords for the native engine: the settings that were given; the others are its own defaults.
    # @return [Hash{Symbol => Object}]
    def engine_options
      settings.slice(*@given).merge(spool_directory: spool_directory, poller: poller, log_fd: log_fd)
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

require "neverblock/config/bind"
