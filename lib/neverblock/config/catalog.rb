# frozen_string_literal: true

# Every setting there is, declared once. The command line, --help, the variables of the environment, the words of the configuration file, the checks, the
# native engine's settings and the tables of docs/guides/configuration.md are all made from these rows.

require "neverblock/config/bind"
require "neverblock/config/option"
require "neverblock/config/route"

module NeverBlock
  class Config
    module Catalog
      U32 = 4_294_967_295
      MS = 1_000
      SIZE_MAX = 1 << 62
      # A fiber costs two maps and some 13 KB; a million is past any machine's maps, so more is a slip of the hand.
      FIBERS_MAX = 1_000_000
      # Workers are for cores; more is a slip of the hand.
      WORKERS_MAX = 128
      # A Ruby with a small application has some 30 MB resident: a lower bound would replace workers without end.
      WORKER_BYTES_MIN = 67_108_864
      # More is no limit (core/send/pace.h).
      RATE = Type::Whole.new(0..10_000_000_000)
      SECONDS = Type::Seconds.new(0.001..(U32 / 1_000.0))
      SECONDS_OR_NIL = Type::Either.new(SECONDS, Type::Nothing.new)
      WORKERS = Type::Either.new(Type::Whole.new(1..WORKERS_MAX), Type::Choice.new(:auto))
      WORKER_BYTES = Type::Either.new(Type::Whole.new(WORKER_BYTES_MIN..SIZE_MAX), Type::Nothing.new)
      FLAG = Type::Flag.new
      # In the order of their numbers (core/http/compliance.h).
      COMPLIANCE = Type::Choice.new(:strict, :common, :lenient)
      PATH = Type::FilePath.new
      ADDRESS = Type::Address.new
      NAME = Type::Text.new(/\A[\w.-]+\z/, "a name, such as production")
      # A slash would make it a path.
      FILE_NAME = Type::Either.new(Type::Text.new(%r{\A[^/\0]{1,255}\z}, "the name of a file, such as \"index.html\""), Type::Nothing.new)
      FIELD_VALUE = Type::Text.new(/\A([!-~]([ -~]*[!-~])?)?\z/, "the field's value, such as \"public, max-age=31536000, immutable\"")
      MEDIA_TYPE = Type::Text.new(%r{\A[\w.+-]+/[\w.+-]+( *; *[ -~]*[!-~])?\z}, "a media type, such as \"application/wasm\"")
      EXTENSION = Type::Text.new(/\A\.?[a-zA-Z0-9][\w+.-]{0,30}\z/, "the end of a file's name, such as \".wasm\"")
      BEGINNING = Type::Text.new(%r{\A/([!-~&&[^?#*%\\]]*/)?\z}, "the beginning of a path up to a slash, such as \"/internal/\"")
      CACHE_RULE = Type::Pair.new(Route::PATH_PATTERN, FIELD_VALUE, '"/assets/*", "public, max-age=31536000, immutable"')
      MIME_ROW = Type::Pair.new(EXTENSION, MEDIA_TYPE, '".wasm", "application/wasm"')
      ACCEL_ROW = Type::Pair.new(BEGINNING, PATH, '"/internal/", "/srv/files"')
      HOST = Type::Text.new(/\A(\[[\h:.]+\]|[\h:.]+|[\w.-]+)\z/, "a host name or an address, such as 0.0.0.0")

      LISTEN = "Where to listen"
      RUN = "How to run"
      FILES_OF_PROCESS = "The process and its log"
      TIMEOUTS = "Timeouts"
      LIMITS = "Limits"
      EXECUTOR = "Executor"
      SERVING_FILES = "Serving files"
      ROUTES = "Routes and figures"
      # Of the Ruby class Config alone: no promise that they stay.
      INTERNAL = "Internal"

      def self.option(name, section, type, **rest)
        Option.new(name: name, section: section, type: type, **rest)
      end
      private_class_method :option

      def self.whole(range)
        Type::Whole.new(range)
      end
      private_class_method :whole

      LISTENING = [
        option(:bind, LISTEN, ADDRESS, default: "http://127.0.0.1:9292", flags: %w[-b --bind], argument: "URL", env: %w[BIND], repeat: true,
                                       help: "an address to listen on, as often as wanted; port 0 takes any free one"),
        option(:port, LISTEN, whole(0..Bind::PORT_MAX), default: 9292, flags: %w[-p --port], argument: "N", env: %w[PORT], in_file: false,
                                                        help: "short for a bind on this port; as a variable it means every address of the machine"),
        option(:host, LISTEN, HOST, default: "127.0.0.1", flags: %w[-o --host], argument: "HOST", env: %w[HOST], in_file: false,
                                    help: "the address that goes with -p or PORT"),
        option(:backlog, LISTEN, whole(1..65_535), default: 1_024, unit: "connections",
                                                   help: "connections the kernel holds until they are accepted (listen(2)); net.core.somaxconn may lower it")
      ].freeze

      RUNNING = [
        option(:fibers, RUN, whole(1..FIBERS_MAX), default: 1_024, unit: "requests", flags: %w[-f --fibers], argument: "N",
                                                   elsewhere: %i[threads min_threads max_threads worker_connections],
                                                   help: "most requests running at once in a process"),
        option(:environment, RUN, NAME, default: "development", flags: %w[-e --environment], argument: "NAME", env: %w[RACK_ENV RAILS_ENV APP_ENV],
                                        help: "what the application runs as; -e sets RACK_ENV and RAILS_ENV"),
        option(:workers, RUN, WORKERS, default: 1, unit: "processes", flags: %w[-w --workers], argument: "N",
                                       env: %w[WEB_CONCURRENCY], elsewhere: %i[worker_processes cluster],
                                       help: "processes that run Ruby, behind the one that listens; 1: all in one process; auto: " \
                                             "the CPUs this process may use"),
        option(:io_threads, RUN, whole(1..64), default: 1, unit: "threads", flags: %w[--io-threads], argument: "N", engine: :io_threads,
                                               help: "native threads that speak with clients, in the one process that listens; see workers.md for when 1 is too few"),
        option(:preload_app, RUN, FLAG, default: true, elsewhere: %i[preload_app! preload],
                                        help: "load the application once and fork workers from it (they share its memory); false: each worker loads it"),
        option(:before_fork, RUN, Type::Block.new, repeat: true, elsewhere: %i[before_worker_fork on_worker_fork],
                                                   help: "called before each worker is forked, in the process that forks it: close what workers must not share"),
        option(:after_fork, RUN, Type::Block.new(:number), repeat: true, elsewhere: %i[on_worker_boot before_worker_boot],
                                                           help: "called in each new worker, with its number from 0: open what is its own"),
        option(:early_hints, RUN, FLAG, default: false, flags: %w[--early-hints],
                                        help: "env has rack.early_hints, by which 103 responses are sent (Rails' send_early_hints)"),
        option(:scheduler, RUN, Type::Choice.new(:native, :async), default: :native, flags: %w[--scheduler], argument: "NAME", later: "native is what there is",
                                                                   works: [:native], help: "the Fiber::Scheduler that requests run on"),
        option(:cooperative, RUN, FLAG, default: false, flags: %w[--cooperative],
                                   help: "the application is not safe on several threads: fibers switch only where they wait, and no spares help out"),
        option(:yjit, RUN, FLAG, default: true, flags: %w[--[no-]yjit], env: %w[RUBY_YJIT_ENABLE], help: "switch YJIT on where Ruby can (3.3 and later)")
      ].freeze

      PROCESS = [
        option(:config, FILES_OF_PROCESS, PATH, default: "config/neverblock.rb", flags: %w[-C --config], argument: "FILE", in_file: false,
                                                help: "the configuration file; the default is read where it exists, - reads none"),
        option(:directory, FILES_OF_PROCESS, PATH, help: "the application's folder, which the server goes to once this file is read; a link is followed anew at each reload"),
        option(:pidfile, FILES_OF_PROCESS, PATH, flags: %w[--pidfile], argument: "FILE", env: %w[PIDFILE],
                                                 help: "holds the process id while the server runs; a stale one is replaced, a live one refused"),
        option(:restart_file, FILES_OF_PROCESS, PATH, elsewhere: %i[tmp_restart],
                                                      help: "touching it reloads workers, and starts a single process again; default tmp/restart.txt of a Rails application"),
        option(:solid_queue, FILES_OF_PROCESS, FLAG, default: false, env: %w[SOLID_QUEUE_IN_NEVERBLOCK SOLID_QUEUE_IN_PUMA],
                                                     help: "bin/jobs of a Rails application runs beside the server and ends with it"),
        option(:log_format, FILES_OF_PROCESS, Type::Choice.new(:text, :json), default: :text, flags: %w[--log-format], argument: "NAME",
                                                                              help: "how log entries are written; json: each an object on a line of its own"),
        option(:log_requests, FILES_OF_PROCESS, Type::Either.new(FLAG, Type::Choice.new(:json)), default: false, flags: %w[--log-requests],
                                                                                                 help: "an entry for each request that was answered"),
        option(:spool_directory, FILES_OF_PROCESS, PATH, help: "where request bodies over 64 KB wait, in files without a name; default $TMPDIR, or /tmp")
      ].freeze

      TIMING = [
        option(:header, TIMEOUTS, SECONDS, group: :timeouts, default: 10, unit: "seconds", engine: :header_timeout_ms, factor: MS,
                                           help: "for a whole request head, from its first byte"),
        option(:accept, TIMEOUTS, Type::Seconds.new(0..(U32 / 1_000.0)), group: :timeouts, default: 1, unit: "seconds", engine: :accept_timeout_ms, factor: MS,
                                           help: "newcomers wait for a place, with none of limits { connections } free or idle; then those who find none are told 503"),
        option(:body, TIMEOUTS, SECONDS, group: :timeouts, default: 30, unit: "seconds", engine: :body_timeout_ms, factor: MS,
                                         help: "the window in which a body, or a response, must make rate_min"),
        option(:idle, TIMEOUTS, SECONDS, group: :timeouts, default: 65, unit: "seconds", engine: :idle_timeout_ms, factor: MS,
                                         help: "between two requests of a connection"),
        option(:shutdown, TIMEOUTS, Type::Seconds.new(0..(U32 / 1_000.0)), group: :timeouts, default: 30, unit: "seconds", engine: :shutdown_timeout_ms, factor: MS,
                                                                           help: "for running requests once the server drains; then they are cut"),
        option(:rate_min, TIMEOUTS, whole(0..U32), group: :timeouts, default: 500, unit: "bytes a second", engine: :rate_min,
                                                   help: "what a transfer must make within a window of body seconds"),
        option(:request, TIMEOUTS, SECONDS_OR_NIL, group: :timeouts, unit: "seconds", engine: :request_timeout_ms,
                                                   factor: MS,
                                                   help: "from a request's arrival until the application returns its head; more: 503"),
        option(:worker, TIMEOUTS, SECONDS_OR_NIL, group: :timeouts, default: 60, unit: "seconds", elsewhere: %i[worker_timeout],
                                                  help: "one request of a worker may keep its process busy without a pause; then the worker is replaced"),
        option(:retire, TIMEOUTS, SECONDS_OR_NIL, group: :timeouts, unit: "seconds", elsewhere: %i[worker_shutdown_timeout],
                                                  help: "for the running requests of a worker that is replaced, by a reload say; nil: as long as they take")
      ].freeze

      BOUNDS = [
        option(:header_bytes, LIMITS, whole(256..262_144), group: :limits, default: 65_536, unit: "bytes", engine: :header_bytes_max, help: "of a request head; more: 431"),
        option(:headers, LIMITS, whole(1..256), group: :limits, default: 100, unit: "fields", engine: :headers_max, help: "of a request head; more: 431"),
        option(:body_bytes, LIMITS, whole(0..SIZE_MAX), group: :limits, default: 104_857_600, unit: "bytes", engine: :body_bytes_max, help: "of a request body; more: 413"),
        option(:spool_bytes, LIMITS, whole(0..SIZE_MAX), group: :limits, default: 1_073_741_824, unit: "bytes", engine: :spool_bytes_max,
                                                         help: "of all request bodies in files together; more: 503"),
        option(:response_bytes, LIMITS, whole(1_048_576..SIZE_MAX), group: :limits, default: 268_435_456, unit: "bytes", engine: :response_bytes_max,
                                                                    help: "of all responses on their way; near it each may hold less, 32 KB at the least, and its writer waits"),
        option(:connections, LIMITS, whole(1..1_000_000), group: :limits, default: 10_000, unit: "connections", engine: :connections_max,
                                                          help: "open at once; more push idle ones out, or wait in the backlog (timeouts { accept }); then 503"),
        option(:queue, LIMITS, whole(0..1_000_000), group: :limits, default: 1_000, unit: "requests", engine: :queue_max, help: "that wait for a fiber; more: 503"),
        option(:worker_bytes, LIMITS, WORKER_BYTES, group: :limits, unit: "bytes", elsewhere: %i[worker_max_memory],
                                                    help: "of a worker's resident memory; with more it is replaced once " \
                                                          "its requests have ended"),
        option(:http_compliance, LIMITS, COMPLIANCE, default: :common, engine: :http_compliance,
                                                     help: "what is read of a request target and of Host beyond the grammar; strict: nothing; " \
                                                           "common: what clients send and other servers read alike; lenient: more; see http.md")
      ].freeze

      EXECUTING = [
        option(:offload_threads, EXECUTOR, whole(1..4_096), group: :executor, default: 32, unit: "threads", help: "most threads behind NB.offload"),
        option(:slice_ms, EXECUTOR, whole(1..60_000), group: :executor, default: 10, unit: "ms",
                                                          help: "how long a fiber runs that does not wait, while others could; see slices.md"),
        option(:stall_ms, EXECUTOR, whole(0..60_000), group: :executor, default: 100, unit: "ms",
                                                      help: "that one fiber may keep its executor before the log tells of a stall, see stalls.md; 0: never"),
        option(:spares, EXECUTOR, whole(0..256), group: :executor, default: 4, unit: "threads",
                                                help: "that take a process's requests while a call without Ruby's lock keeps its executor"),
        option(:learn_lanes, EXECUTOR, FLAG, default: true, help: "requests like those whose calls have kept executors again and again run on threads of a lane, for a while"),
        option(:cancel_on_disconnect, EXECUTOR, FLAG, default: false, engine: :cancel_on_disconnect,
                                                      help: "NB::ClientGone at a request's next wait when its client has left")
      ].freeze

      FILES = [
        option(:public_dir, SERVING_FILES, PATH, flags: %w[--public], argument: "DIR", repeat: true,
                                                 help: "a folder whose files are served before the application is asked, as often as wanted: the first that has a file serves it"),
        option(:index, SERVING_FILES, FILE_NAME, default: "index.html", repeat: true,
                                                 help: "the file that stands for its folder, in the order they are tried; nil: none"),
        option(:cache, SERVING_FILES, CACHE_RULE, repeat: true, help: "cache-control of the files of public_dir at some paths; the first that matches wins"),
        option(:mime, SERVING_FILES, MIME_ROW, repeat: true, help: "the content type of files by the end of their names, where the built-in table has another or none"),
        option(:symlinks, SERVING_FILES, Type::Choice.new(:inside, :owner, :follow), default: :inside, engine: :symlinks,
                                                                                     help: "symbolic links that are followed: inside, to what lies in the same folder; " \
                                                                                           "owner, to what belongs to the link's owner; follow, all"),
        option(:roots, SERVING_FILES, PATH, group: :sendfile, flags: %w[--sendfile-root], argument: "DIR", repeat: true,
                                            help: "a folder that X-Sendfile may name files of, as often as wanted; without any the field goes on to a proxy in front"),
        option(:accel, SERVING_FILES, ACCEL_ROW, repeat: true,
                                                 help: "the folder that X-Accel-Redirect means by the beginning of its path; without any the field goes on to a proxy in front"),
        option(:algorithm, SERVING_FILES, Type::Algorithm.new, group: :sendfile, default: :auto, flags: %w[--algorithm], argument: "NAME", engine: :sendfile_algorithm,
                                                               help: "how files are sent, see the guide to sending files; a gem may add another"),
        option(:buffer, SERVING_FILES, whole(4_096..16_777_216), group: :sendfile, default: 81_920, unit: "bytes", engine: :sendfile_buffer,
                                                                 help: "a part of a file, with eba and enba"),
        option(:workers, SERVING_FILES, whole(0..1_024), group: :sendfile, default: 50, unit: "threads", engine: :file_send_workers,
                                                         help: "that send files, or read them ahead; 0: all is done by the I/O loop"),
        option(:rate, SERVING_FILES, RATE, group: :sendfile, default: 0, unit: "bytes a second", engine: :send_rate,
                                           help: "of files to one connection, where its route says no other; 0: no limit"),
        option(:address_rate, SERVING_FILES, RATE, group: :sendfile, default: 0, unit: "bytes a second", engine: :address_rate,
                                                   help: "of files to all connections of one client address together; 0: no limit"),
        option(:report, SERVING_FILES, Type::Text.new(%r{\Ahttps?://[^\s/?#]+\S*\z}, "an http:// or https:// URL"),
               group: :sendfile, help: "where the results of downloads with an X-Download-Id are posted"),
        option(:on_download, SERVING_FILES, Type::Block.new(:report), repeat: true, help: "called when a download with an X-Download-Id has ended")
      ].freeze

      ROUTING = [
        option(:route, ROUTES, Route::Line.new, repeat: true, help: "how requests of some paths are served; see Routes"),
        option(:admin, ROUTES, ADDRESS, flags: %w[--admin], argument: "URL",
                                        help: "where /health, /ready, /metrics and /status.json are answered, whatever the application does; off unless given")
      ].freeze

      INTERNALS = [
        option(:credit, INTERNAL, whole(1..65_536), default: 256, unit: "requests", engine: :credit, help: "given to one executor ahead of its running them"),
        option(:response_backlog_bytes, INTERNAL, whole(1..U32), default: 1_048_576, unit: "bytes", engine: :response_backlog_bytes,
                                                                 help: "of one response before its writer parks"),
        option(:file_workers, INTERNAL, whole(1..256), default: 2, unit: "threads", engine: :file_workers, help: "that write request bodies to files"),
        option(:guest_turns, INTERNAL, whole(0..1), default: 1, engine: :guest_turns, help: "1: an idle executor may run the I/O loop's turns itself"),
        option(:spare_after_ms, INTERNAL, whole(1..60_000), default: 10, engine: :spare_after_ms,
                                                             help: "an executor runs one fiber so long, with work waiting: its spare is called"),
        option(:front, INTERNAL, whole(0..1), default: 0, engine: :front, help: "1: requests are run by worker processes"),
        option(:log_refused, INTERNAL, whole(0..1), default: 0, engine: :log_refused, help: "1: a line of the log for each request the I/O loop answers itself"),
        option(:answer_asterisk, INTERNAL, whole(0..1), default: 0, engine: :answer_asterisk, help: "1: the I/O loop answers OPTIONS * itself; 0: the application does")
      ].freeze

      # What people set, in the order the documents have it.
      OPTIONS = [*LISTENING, *RUNNING, *PROCESS, *TIMING, *BOUNDS, *EXECUTING, *FILES, *ROUTING].freeze
      # What the native engine is told.
      ENGINE = [*OPTIONS, *INTERNALS].select(&:engine).freeze
      BY_KEY = [*OPTIONS, *INTERNALS].to_h { |row| [row.key, row] }.freeze

      module_function

      # @param key [Symbol] see Option#key
      # @return [Option]
      def [](key)
        BY_KEY.fetch(key)
      end

      # @param word [Symbol, String] of another server's file or command line
      # @return [Option, nil] what does the same here
      def for_word_of_others(word)
        name = word.to_s.delete_prefix("--").tr("-", "_").to_sym
        OPTIONS.find { |row| row.elsewhere.include?(name) }
      end

      # @return [Array<Option>] that the file may have, in a group or, with nil, outside of any
      def in_file(group)
        OPTIONS.select { |row| row.in_file && row.group == group }
      end

      # @return [Array<Symbol>]
      def groups
        OPTIONS.filter_map(&:group).uniq
      end
    end
  end
end
