# frozen_string_literal: true

# Every setting, declared once, but for what belongs to one route (config/route.rb) or to one bind
# (config/bind.rb). From these rows come the command line, --help, the environment
# variables, the words of the configuration file, the checks, the native engine's settings and the
# tables of docs/guides/configuration.md.

require "neverblock/config/acme"
require "neverblock/config/bind"
require "neverblock/config/option"
require "neverblock/config/route"

module NeverBlock
  class Config
    module Catalog
      U32 = 4_294_967_295
      MS = 1_000
      SIZE_MAX = 1 << 62
      # A fiber costs two memory maps and some 13 KB. No machine has maps for a million fibers, so a
      # higher number is a typing error.
      FIBERS_MAX = 1_000_000
      # A worker is meant for one CPU. A higher number is a typing error.
      WORKERS_MAX = 128
      # A Ruby process with a small application has some 30 MB resident. A lower bound would replace
      # workers endlessly.
      WORKER_BYTES_MIN = 67_108_864
      # A higher rate is no limit (core/send/pace.h).
      RATE = Type::Whole.new(0..10_000_000_000)
      SECONDS = Type::Seconds.new(0.001..(U32 / 1_000.0))
      SECONDS_FROM_0 = Type::Seconds.new(0..(U32 / 1_000.0))
      SECONDS_OR_NIL = Type::Either.new(SECONDS, Type::Nothing.new)
      WORKERS = Type::Either.new(Type::Whole.new(1..WORKERS_MAX), Type::Choice.new(:auto))
      WORKER_BYTES =
        Type::Either.new(Type::Whole.new(WORKER_BYTES_MIN..SIZE_MAX), Type::Nothing.new)
      FLAG = Type::Flag.new
      # In the order of the engine's numbers (core/http/compliance.h).
      COMPLIANCE = Type::Choice.new(:strict, :common, :lenient)
      PATH = Type::FilePath.new
      ADDRESS = Type::Address.new
      ADMIN_ADDRESS = Type::Address.new(plain: true)
      TOKEN = Type::Secret.new(/\A[!-~]{16,256}\z/,
                               "16 to 256 printable characters without spaces, " \
                               "such as `openssl rand -hex 24` gives")
      NAME = Type::Text.new(/\A[\w.-]+\z/, "a name, such as production")
      # A name with a slash would be a path.
      FILE_NAME = Type::Either.new(
        Type::Text.new(%r{\A[^/\0]{1,255}\z}, "a file name, such as \"index.html\""),
        Type::Nothing.new
      )
      FIELD_VALUE = Type::Text.new(
        /\A([!-~]([ -~]*[!-~])?)?\z/,
        "a field value, such as \"public, max-age=31536000, immutable\""
      )
      MEDIA_TYPE = Type::Text.new(
        %r{\A[\w.+-]+/[\w.+-]+( *; *[ -~]*[!-~])?\z},
        "a media type, such as \"application/wasm\""
      )
      COMPRESSED_TYPE = Type::Text.new(
        %r{\A(?!.*\*.*\*)[\w.+*-]+/[\w.+*-]+\z},
        "a media type with one star at most, such as \"application/json\" or \"text/*\""
      )
      EXTENSION = Type::Text.new(
        /\A\.?[a-zA-Z0-9][\w+.-]{0,30}\z/,
        "a file extension, such as \".wasm\""
      )
      BEGINNING = Type::Text.new(
        %r{\A/([!-~&&[^?#*%\\]]*/)?\z},
        "a path prefix that ends with a slash, such as \"/internal/\""
      )
      CACHE_RULE = Type::Pair.new(
        Route::PATH_PATTERN, FIELD_VALUE,
        '"/assets/*", "public, max-age=31536000, immutable"'
      )
      MIME_ROW = Type::Pair.new(EXTENSION, MEDIA_TYPE, '".wasm", "application/wasm"')
      ACCEL_ROW = Type::Pair.new(BEGINNING, PATH, '"/internal/", "/srv/files"')
      HOST = Type::Text.new(
        /\A(\[[\h:.]+\]|[\h:.]+|[\w.-]+)\z/,
        "a host name or an address, such as 0.0.0.0"
      )
      HTTP_URL = Type::Text.new(%r{\Ahttps?://[^\s/?#]+\S*\z}, "an http:// or https:// URL")
      CIPHERS = Type::Text.new(
        /\A[\w+:!@=-]+\z/,
        "names in OpenSSL's form, such as " \
        "\"ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305\""
      )
      VARIABLE = Type::Text.new(/\A[A-Za-z_]\w*\z/, "the name of an environment variable")
      SERVER_TIMING = Type::Either.new(
        FLAG,
        Type::Secret.new(/\A[!-~]{16,128}\z/, "a secret of 16 to 128 characters without spaces")
      )
      LOG_REQUESTS = Type::Either.new(FLAG, Type::Choice.new(:json))

      LISTEN = "Where to listen"
      RUN = "How to run"
      FILES_OF_PROCESS = "The process and its log"
      SECURE = "TLS"
      TIMEOUTS = "Timeouts"
      LIMITS = "Limits"
      EXECUTOR = "Executor"
      SERVING_FILES = "Serving files"
      COMPRESSION = "Compression"
      ROUTES = "Routes and figures"
      # Only for the Ruby class Config. These may change at any time.
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
        option(:bind, LISTEN, ADDRESS,
               default: "http://127.0.0.1:9292", flags: %w[-b --bind], argument: "URL",
               env: %w[BIND], repeat: true,
               help: "an address to listen on; may be given several times; port 0 takes any " \
                     "free port; ?proxy_protocol=on where a balancer sends that header"),
        option(:port, LISTEN, whole(0..Bind::PORT_MAX),
               default: 9292, flags: %w[-p --port], argument: "N", env: %w[PORT], in_file: false,
               help: "short for a bind on this port; the variable PORT means every address of " \
                     "the machine"),
        option(:host, LISTEN, HOST,
               default: "127.0.0.1", flags: %w[-o --host], argument: "HOST", env: %w[HOST],
               in_file: false,
               help: "the address that goes with -p or PORT"),
        option(:redirect_https, LISTEN, FLAG,
               default: false,
               help: "send the requests of plain http addresses to the first https address: 301, " \
                     "and 308 where the method has a body"),
        option(:backlog, LISTEN, whole(1..65_535),
               default: 1_024, unit: "connections",
               help: "connections the kernel queues until they are accepted (listen(2)); " \
                     "net.core.somaxconn may lower it")
      ].freeze

      RUNNING = [
        option(:fibers, RUN, whole(1..FIBERS_MAX),
               default: 1_024, unit: "requests", flags: %w[-f --fibers], argument: "N",
               elsewhere: %i[threads min_threads max_threads worker_connections],
               help: "the most requests that run at once in a process"),
        option(:environment, RUN, NAME,
               default: "development", flags: %w[-e --environment], argument: "NAME",
               env: %w[RACK_ENV RAILS_ENV APP_ENV],
               help: "the environment the application runs in; -e sets RACK_ENV and RAILS_ENV"),
        option(:workers, RUN, WORKERS,
               default: 1, unit: "processes", flags: %w[-w --workers], argument: "N",
               env: %w[WEB_CONCURRENCY], elsewhere: %i[worker_processes cluster],
               help: "processes that run Ruby, behind the one that listens; 1: a single " \
                     "process; auto: as many as the CPUs this process may use"),
        option(:io_threads, RUN, whole(1..64),
               default: 1, unit: "threads", flags: %w[--io-threads], argument: "N",
               engine: :io_threads,
               help: "native threads that serve client connections, in the process that " \
                     "listens; workers.md tells when 1 is too few"),
        option(:preload_app, RUN, FLAG,
               default: true, elsewhere: %i[preload_app! preload],
               help: "load the application once and fork workers from it, which share its " \
                     "memory; false: each worker loads it"),
        option(:before_fork, RUN, Type::Block.new,
               repeat: true, elsewhere: %i[before_worker_fork on_worker_fork],
               help: "called before each worker is forked, in the process that forks; close " \
                     "what workers must not share"),
        option(:after_fork, RUN, Type::Block.new(:number),
               repeat: true, elsewhere: %i[on_worker_boot before_worker_boot],
               help: "called in each new worker, with the worker's number from 0; open what " \
                     "this worker alone uses; in a single process called once, with 0"),
        option(:early_hints, RUN, FLAG,
               default: false, flags: %w[--early-hints],
               help: "sets rack.early_hints in env, which sends 103 responses (Rails: " \
                     "send_early_hints)"),
        option(:scheduler, RUN, Type::Choice.new(:native, :async),
               default: :native, flags: %w[--scheduler], argument: "NAME",
               help: "the Fiber::Scheduler that runs requests; async: each is a task of the gem " \
                     "async, and cooperative is on, see moving.md"),
        option(:cooperative, RUN, FLAG,
               default: false, flags: %w[--cooperative],
               help: "for an application that is not safe on several threads: fibers switch " \
                     "only where they wait, and there are no spare executors"),
        option(:yjit, RUN, FLAG,
               default: true, flags: %w[--[no-]yjit], env: %w[RUBY_YJIT_ENABLE],
               help: "switch YJIT on where Ruby has it (3.3 and later)")
      ].freeze

      PROCESS = [
        option(:config, FILES_OF_PROCESS, PATH,
               default: "config/neverblock.rb", flags: %w[-C --config], argument: "FILE",
               in_file: false,
               help: "the configuration file; the default file is read where it exists; - reads " \
                     "none"),
        option(:directory, FILES_OF_PROCESS, PATH,
               help: "the application's folder; the server changes to it after it has read this " \
                     "file; a symbolic link is resolved again at each reload"),
        option(:pidfile, FILES_OF_PROCESS, PATH,
               flags: %w[--pidfile], argument: "FILE", env: %w[PIDFILE],
               help: "holds the process id while the server runs; a stale file is replaced; the " \
                     "file of a running process is refused"),
        option(:restart_file, FILES_OF_PROCESS, PATH,
               elsewhere: %i[tmp_restart],
               help: "touching this file reloads the workers, or restarts a single process; " \
                     "default tmp/restart.txt of a Rails application"),
        option(:solid_queue, FILES_OF_PROCESS, FLAG,
               default: false, env: %w[SOLID_QUEUE_IN_NEVERBLOCK SOLID_QUEUE_IN_PUMA],
               help: "run bin/jobs of a Rails application beside the server, and end it with " \
                     "the server"),
        option(:log_format, FILES_OF_PROCESS, Type::Choice.new(:text, :json),
               default: :text, flags: %w[--log-format], argument: "NAME",
               help: "the format of log entries; json: one object on each line"),
        option(:log_advice, FILES_OF_PROCESS, FLAG,
               default: true,
               help: "log at most one line of advice when the server starts, once a day; " \
                     "neverblock check has all of it"),
        option(:log_requests, FILES_OF_PROCESS, LOG_REQUESTS,
               default: false, flags: %w[--log-requests],
               help: "log an entry for each answered request"),
        option(:spool_directory, FILES_OF_PROCESS, PATH,
               help: "the folder for request bodies over 64 KB, which are kept in unlinked " \
                     "files; default $TMPDIR, or /tmp")
      ].freeze

      TLS_ROWS = [
        option(:cert, SECURE, PATH,
               group: :tls, repeat: true,
               help: "a file in PEM with the certificate, and its chain, of https addresses that " \
                     "name none; may be given several times, for other names or another kind of " \
                     "key"),
        option(:key, SECURE, PATH,
               group: :tls, repeat: true,
               help: "the file of its key, once for each cert; none: the keys are in the files " \
                     "of the certificates"),
        option(:passphrase_env, SECURE, VARIABLE,
               group: :tls,
               help: "the environment variable with the passphrase of the keys"),
        option(:passphrase_command, SECURE, Type::Text.new(/\A[^\0]+\z/, "a command"),
               group: :tls,
               help: "a command that prints the passphrase of the keys"),
        option(:acme, SECURE, Acme::Line.new,
               group: :tls, repeat: true,
               help: "host names that an ACME server, such as Let's Encrypt, issues a " \
                     "certificate for; it means agreement to the server's terms; once for each " \
                     "certificate"),
        option(:verify, SECURE, Type::Choice.new(:none, :optional, :required),
               group: :tls, default: :none,
               help: "whether clients show a certificate; one that is not valid ends the " \
                     "handshake; SSL_CLIENT_VERIFY and its like in env tell of it"),
        option(:ca, SECURE, PATH,
               group: :tls,
               help: "a file in PEM with the certificates that those of clients are verified by"),
        option(:min_version, SECURE, Type::Choice.new(:"1.2", :"1.3"),
               group: :tls, default: :"1.2",
               help: "the oldest version of TLS that clients may use"),
        option(:ciphers, SECURE, CIPHERS,
               group: :tls,
               help: "ciphers of TLS 1.2; default: Mozilla's intermediate list, without " \
                     "finite-field Diffie-Hellman"),
        option(:suites, SECURE, CIPHERS,
               group: :tls,
               help: "ciphers of TLS 1.3; default: all three that RFC 8446 asks for"),
        option(:curves, SECURE, CIPHERS,
               group: :tls,
               help: "groups for the key exchange, the best first; default: X25519:P-256:P-384"),
        option(:ktls, SECURE, FLAG,
               group: :tls, default: true,
               help: "the kernel encrypts what is sent, where it can (the module tls of Linux, " \
                     "OpenSSL 3), so that files are not copied")
      ].freeze

      TIMING = [
        option(:header, TIMEOUTS, SECONDS,
               group: :timeouts, default: 10, unit: "seconds", engine: :header_timeout_ms,
               factor: MS,
               help: "time for a whole request head: the first of a connection from when it " \
                     "is accepted, the others from their first byte"),
        option(:handshake, TIMEOUTS, SECONDS,
               group: :timeouts, default: 10, unit: "seconds", engine: :handshake_timeout_ms,
               factor: MS,
               help: "time for the TLS handshake of an https address, and for the header of the " \
                     "PROXY protocol, from when the connection is accepted"),
        option(:accept, TIMEOUTS, SECONDS_FROM_0,
               group: :timeouts, default: 1, unit: "seconds", engine: :accept_timeout_ms,
               factor: MS,
               help: "time a new connection waits for a place when limits { connections } is " \
                     "reached and none is idle; then it gets 503"),
        option(:body, TIMEOUTS, SECONDS,
               group: :timeouts, default: 30, unit: "seconds", engine: :body_timeout_ms, factor: MS,
               help: "the period in which a body, or a response, must average rate_min"),
        option(:idle, TIMEOUTS, SECONDS,
               group: :timeouts, default: 65, unit: "seconds", engine: :idle_timeout_ms, factor: MS,
               help: "time between two requests of a connection"),
        option(:shutdown, TIMEOUTS, SECONDS_FROM_0,
               group: :timeouts, default: 30, unit: "seconds", engine: :shutdown_timeout_ms,
               factor: MS,
               help: "time for running requests once the server drains; then their connections " \
                     "are closed. What is left of it is for at_exit blocks of workers"),
        option(:rate_min, TIMEOUTS, whole(0..U32),
               group: :timeouts, default: 500, unit: "bytes a second", engine: :rate_min,
               help: "the lowest average rate of a transfer over a period of timeouts { body }"),
        option(:request, TIMEOUTS, SECONDS_OR_NIL,
               group: :timeouts, unit: "seconds", engine: :request_timeout_ms, factor: MS,
               help: "time from a request's arrival until the application returns its response " \
                     "head; then 503"),
        option(:worker, TIMEOUTS, SECONDS_OR_NIL,
               group: :timeouts, default: 60, unit: "seconds", elsewhere: %i[worker_timeout],
               help: "how long one request may keep its worker process busy without a pause; " \
                     "then the worker is replaced"),
        option(:retire, TIMEOUTS, SECONDS_OR_NIL,
               group: :timeouts, unit: "seconds", elsewhere: %i[worker_shutdown_timeout],
               help: "time for the running requests of a worker that is replaced, as by a " \
                     "reload; nil: no limit. What is left of it is for its at_exit blocks; nil: " \
                     "30 s")
      ].freeze

      BOUNDS = [
        option(:header_bytes, LIMITS, whole(256..262_144),
               group: :limits, default: 65_536, unit: "bytes", engine: :header_bytes_max,
               help: "size of a request head; a larger one gets 431"),
        option(:headers, LIMITS, whole(1..256),
               group: :limits, default: 100, unit: "fields", engine: :headers_max,
               help: "fields of a request head; a head with more gets 431"),
        option(:body_bytes, LIMITS, whole(0..SIZE_MAX),
               group: :limits, default: 104_857_600, unit: "bytes", engine: :body_bytes_max,
               help: "size of a request body; a larger one gets 413"),
        option(:spool_bytes, LIMITS, whole(0..SIZE_MAX),
               group: :limits, default: 1_073_741_824, unit: "bytes", engine: :spool_bytes_max,
               help: "total size of all request bodies in files; a body beyond it gets 503"),
        option(:response_bytes, LIMITS, whole(1_048_576..SIZE_MAX),
               group: :limits, default: 268_435_456, unit: "bytes", engine: :response_bytes_max,
               help: "total size of all unsent responses; near it each response may hold less, " \
                     "at least 32 KB, and its writer waits"),
        option(:connections, LIMITS, whole(1..1_000_000),
               group: :limits, default: 10_000, unit: "connections", engine: :connections_max,
               help: "open connections; beyond it idle ones are closed, or new ones wait in the " \
                     "backlog (timeouts { accept }), then get 503"),
        option(:handshakes, LIMITS, whole(1..1_000_000),
               group: :limits, default: 1_000, unit: "handshakes", engine: :handshakes_max,
               help: "handshakes of TLS under way in each I/O loop; a connection beyond them " \
                     "is closed"),
        option(:http2_streams, LIMITS, whole(1..1_000),
               group: :limits, default: 100, unit: "requests", engine: :http2_streams_max,
               help: "requests at once of a connection of HTTP/2; a stream beyond it is refused"),
        option(:http2_resets, LIMITS, whole(1..300),
               group: :limits, default: 200, unit: "streams", engine: :http2_resets_max,
               help: "streams of a connection of HTTP/2 that its client resets, or gets reset by " \
                     "mistakes, in 10 seconds; beyond it the connection ends"),
        option(:http2_frames, LIMITS, whole(100..100_000),
               group: :limits, default: 1_000, unit: "frames", engine: :http2_frames_max,
               help: "control frames that wait for a client of HTTP/2 that does not read; beyond " \
                     "it nothing more is read of it, and unread answers to SETTINGS and PING end " \
                     "its connection"),
        option(:queue, LIMITS, whole(0..1_000_000),
               group: :limits, default: 1_000, unit: "requests", engine: :queue_max,
               help: "requests that wait for a fiber; a request beyond it gets 503"),
        option(:worker_bytes, LIMITS, WORKER_BYTES,
               group: :limits, unit: "bytes", elsewhere: %i[worker_max_memory],
               help: "resident memory of a worker; above it the worker is replaced once its " \
                     "requests have ended"),
        option(:http_compliance, LIMITS, COMPLIANCE,
               default: :common, engine: :http_compliance,
               help: "what a request target and Host may contain beyond the grammar; strict: " \
                     "nothing; common: what clients send and other servers accept alike; " \
                     "lenient: more; see http.md")
      ].freeze

      EXECUTING = [
        option(:offload_threads, EXECUTOR, whole(1..4_096),
               group: :executor, default: 32, unit: "threads",
               help: "the most threads that run NB.offload"),
        option(:slice_ms, EXECUTOR, whole(1..60_000),
               group: :executor, default: 10, unit: "ms",
               help: "the time slice: how long a fiber may run without waiting while others are " \
                     "ready; see slices.md"),
        option(:stall_ms, EXECUTOR, whole(0..60_000),
               group: :executor, default: 100, unit: "ms",
               help: "how long one fiber may occupy its executor before the log reports a " \
                     "stall, see stalls.md; 0: never"),
        option(:stall_trace, EXECUTOR, Type::Choice.new(:own, :whole),
               group: :executor, default: :own, env: %w[NEVERBLOCK_STALL_TRACE],
               help: "what the log has of a stall's backtrace; own: the first five lines of the " \
                     "application; whole: all"),
        option(:spares, EXECUTOR, whole(0..256),
               group: :executor, default: 4, unit: "threads",
               help: "threads that take over a process's requests while a call without Ruby's " \
                     "lock blocks its executor"),
        option(:learn_lanes, EXECUTOR, FLAG,
               default: true,
               help: "requests of a class whose calls have blocked executors again and again " \
                     "run on threads of a lane, for a while"),
        option(:cancel_on_disconnect, EXECUTOR, FLAG,
               default: false, engine: :cancel_on_disconnect,
               help: "NB::ClientGone is raised at a request's next wait when its client has " \
                     "disconnected")
      ].freeze

      FILES = [
        option(:public_dir, SERVING_FILES, PATH,
               flags: %w[--public], argument: "DIR", repeat: true,
               help: "a folder whose files are served before the application is called; may be " \
                     "given several times; the first that has a file serves it"),
        option(:index, SERVING_FILES, FILE_NAME,
               default: "index.html", repeat: true,
               help: "the file that is served for its folder; several are tried in order; nil: " \
                     "none"),
        option(:cache, SERVING_FILES, CACHE_RULE,
               repeat: true,
               help: "the Cache-Control field of files of public_dir at matching paths; the " \
                     "first match wins"),
        option(:mime, SERVING_FILES, MIME_ROW,
               repeat: true,
               help: "the content type of files by extension, where the built-in table has " \
                     "another or none"),
        option(:symlinks, SERVING_FILES, Type::Choice.new(:inside, :owner, :follow),
               default: :inside, engine: :symlinks,
               help: "which symbolic links are followed; inside: those to targets in the same " \
                     "folder; owner: those to targets of the link's owner; follow: all"),
        option(:roots, SERVING_FILES, PATH,
               group: :sendfile, flags: %w[--sendfile-root], argument: "DIR", repeat: true,
               help: "a folder whose files X-Sendfile may name; may be given several times; " \
                     "without any, the field passes on to a proxy in front"),
        option(:accel, SERVING_FILES, ACCEL_ROW,
               repeat: true,
               help: "the folder that X-Accel-Redirect means by the prefix of its path; without " \
                     "any, the field passes on to a proxy in front"),
        option(:algorithm, SERVING_FILES, Type::Algorithm.new,
               group: :sendfile, default: :auto, flags: %w[--algorithm], argument: "NAME",
               engine: :sendfile_algorithm,
               help: "how files are sent, see the guide to sending files; a gem may add another"),
        option(:buffer, SERVING_FILES, whole(4_096..16_777_216),
               group: :sendfile, default: 81_920, unit: "bytes", engine: :sendfile_buffer,
               help: "size of one part of a file, with eba and enba"),
        option(:workers, SERVING_FILES, whole(0..1_024),
               group: :sendfile, default: 50, unit: "threads", engine: :file_send_workers,
               help: "threads that send files, or read them ahead; 0: the I/O loop does all of it"),
        option(:rate, SERVING_FILES, RATE,
               group: :sendfile, default: 0, unit: "bytes a second", engine: :send_rate,
               help: "for each download, unless its route sets another; 0: no limit"),
        option(:address_rate, SERVING_FILES, RATE,
               group: :sendfile, default: 0, unit: "bytes a second", engine: :address_rate,
               help: "for files to all connections of one client address together; 0: no limit"),
        option(:report, SERVING_FILES, HTTP_URL,
               group: :sendfile,
               help: "the URL to which results of downloads with an X-Download-Id are posted"),
        option(:on_download, SERVING_FILES, Type::Block.new(:report),
               repeat: true,
               help: "called when a download with an X-Download-Id has ended")
      ].freeze

      COMPRESSING = [
        option(:compress, COMPRESSION, Route::COMPRESS,
               default: false, flags: %w[--compress], env: %w[NEVERBLOCK_COMPRESS],
               engine: :compress,
               help: "compress responses of the application that are text, by zstd, br or gzip; " \
                     "always: also where another site may watch their sizes, see compression.md"),
        option(:min_bytes, COMPRESSION, whole(0..U32),
               group: :compression, default: 1_024, unit: "bytes", engine: :compress_bytes_min,
               help: "size of a body below which it is not compressed"),
        option(:types, COMPRESSION, COMPRESSED_TYPE,
               group: :compression, repeat: true,
               help: "a media type that is compressed, in place of the usual ones; a star stands " \
                     "for anything; may be given several times"),
        option(:level, COMPRESSION, whole(1..9),
               group: :compression, default: 4, engine: :compress_level,
               help: "1: fast, to 9: small, as of gzip; br and zstd take levels of their own " \
                     "that need about the same time")
      ].freeze

      ROUTING = [
        option(:route, ROUTES, Route::Line.new,
               repeat: true,
               help: "how requests to some paths are served; see Routes"),
        option(:admin, ROUTES, ADMIN_ADDRESS,
               flags: %w[--admin], argument: "URL",
               help: "where the live page, /health, /ready, /metrics, /status.json, " \
                     "/fibers.json, /slowest.json, /observed.json and /events are answered, even " \
                     "while the application does not respond, and /advice.json; off unless given"),
        option(:admin_token, ROUTES, TOKEN,
               env: %w[NEVERBLOCK_ADMIN_TOKEN],
               help: "who has it may cancel requests, reload and change the number of workers at " \
                     "the admin address; nobody may unless given"),
        option(:server_timing, ROUTES, SERVER_TIMING,
               default: false, env: %w[NEVERBLOCK_SERVER_TIMING],
               help: "true: responses of the application have Server-Timing, which tells where " \
                     "their time went; a secret: those to requests that bring it in " \
                     "X-Server-Timing; see timing.md")
      ].freeze

      INTERNALS = [
        option(:credit, INTERNAL, whole(1..65_536),
               default: 256, unit: "requests", engine: :credit,
               help: "requests handed to one executor ahead of the ones it runs"),
        option(:response_backlog_bytes, INTERNAL, whole(1..U32),
               default: 1_048_576, unit: "bytes", engine: :response_backlog_bytes,
               help: "unsent size of one response at which its writer parks"),
        option(:file_workers, INTERNAL, whole(1..256),
               default: 2, unit: "threads", engine: :file_workers,
               help: "threads that write request bodies to files"),
        option(:handshake_workers, INTERNAL, whole(1..256),
               default: 2, unit: "threads", engine: :handshake_workers,
               help: "threads that use private keys in TLS handshakes"),
        option(:compress_workers, INTERNAL, whole(1..256),
               default: 2, unit: "threads", engine: :compress_workers,
               help: "threads that compress large responses"),
        option(:redirect_port, INTERNAL, whole(0..Bind::PORT_MAX),
               default: 0, engine: :redirect_port,
               help: "the port of https that requests of plain addresses are sent to; 0: they " \
                     "are served"),
        option(:guest_turns, INTERNAL, whole(0..1),
               default: 1, engine: :guest_turns,
               help: "1: an idle executor may run the I/O loop's turns itself"),
        option(:spare_after_ms, INTERNAL, whole(1..60_000),
               default: 10, engine: :spare_after_ms,
               help: "how long an executor may run one fiber, while work waits, before its " \
                     "spare is called"),
        option(:front, INTERNAL, whole(0..1),
               default: 0, engine: :front,
               help: "1: worker processes run the requests"),
        option(:log_refused, INTERNAL, whole(0..1),
               default: 0, engine: :log_refused,
               help: "1: a log line for each request that the I/O loop answers itself"),
        option(:answer_asterisk, INTERNAL, whole(0..1),
               default: 0, engine: :answer_asterisk,
               help: "1: the I/O loop answers OPTIONS * itself; 0: the application does")
      ].freeze

      # The public settings, in the order of the documents.
      OPTIONS = [
        *LISTENING, *TLS_ROWS, *RUNNING, *PROCESS, *TIMING, *BOUNDS, *EXECUTING, *FILES,
        *COMPRESSING, *ROUTING
      ].freeze
      # The settings of the native engine.
      ENGINE = [*OPTIONS, *INTERNALS].select(&:engine).freeze
      BY_KEY = [*OPTIONS, *INTERNALS].to_h { |row| [row.key, row] }.freeze

      module_function

      # @param key [Symbol] see Option#key
      # @return [Option]
      def [](key)
        BY_KEY.fetch(key)
      end

      # @param word [Symbol, String] a setting of another server's file or command line
      # @return [Option, nil] the setting that does the same here
      def for_word_of_others(word)
        name = word.to_s.delete_prefix("--").tr("-", "_").to_sym
        OPTIONS.find { |row| row.elsewhere.include?(name) }
      end

      # @return [Array<Option>] the settings of a group in the file; with nil, those outside of
      #   groups
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
