# frozen_string_literal: true

require "neverblock/init/puma_bind"
require "neverblock/init/ruby_file"

module NeverBlock
  module Init
    # config/puma.rb, by the words of Puma 5 to 8.
    class Puma < RubyFile
      SERVER = "Puma"
      # Where it lies in an application. Puma in production reads the first of them alone.
      FILES = %w[config/puma/production.rb config/puma.rb puma.rb].freeze

      THREADS = "a request runs in a fiber, not in a thread: up to 1,024 at once in each process " \
                "(`fibers`). Pools of database connections that nobody has sized (5 counts as " \
                "that) get a share of what the database takes; another number is kept."
      NO_THREAD = "requests have no threads of their own that begin and end"
      PARAMETERS = "a block gets no more than the worker's number here: what blocks share is a " \
                   "variable of this file"
      CONTROL = "`neverblock stop`, `reload` and `status` take the place of pumactl, by pidfile " \
                "or address; `admin \"http://127.0.0.1:9293\"` answers /health, /ready, " \
                "/metrics and /status.json"
      LOOP = "connections are the I/O loop's, which takes as many as there are"

      # Nothing has to be written here.
      NEEDLESS = {
        %i[threads] => THREADS,
        %i[activate_control_app state_path state_permission] => CONTROL,
        %i[queue_requests max_fast_inline max_keep_alive wait_for_less_busy_worker
           io_selector_backend max_io_threads fiber_per_request] => LOOP,
        %i[silence_single_worker_warning silence_fork_callback_warning quiet debug
           mutate_stdout_and_stderr_to_sync_on_write shutdown_debug] =>
          "there is no such message here",
        %i[worker_check_interval worker_culling_strategy] =>
          "the front sees at once when a worker ends or stands still",
        %i[fork_worker nakayoshi_fork] =>
          "workers are forked from a process that has loaded the application and serves nothing, " \
          "so they share its memory already",
        %i[clean_thread_locals] => "what a request leaves in Thread.current[] is cleared",
        %i[prune_bundler extra_runtime_dependencies restart_command] =>
          "a reload loads the application in a new process, with its new Gemfile",
        %i[raise_exception_on_sigterm] => "TERM drains, and the process ends with status 0",
        %i[clear_binds!] => "there is no bind but those written here",
        %i[tag] => "the name of a process tells its application already",
        %i[drain_on_shutdown] => "a stop serves what has been accepted",
        %i[bind_to_activated_sockets] => "write each address as a bind"
      }.freeze

      # There is no counterpart.
      MISSING = {
        %i[app] => "an application is a rackup file here: move the block to config.ru (`run ...`)",
        %i[lowlevel_error_handler] =>
          "an exception that leaves the application is answered 500 and logged; rescue it in a " \
          "middleware to answer otherwise",
        %i[set_remote_address] =>
          "REMOTE_ADDR is the address of the connection, or what the PROXY protocol tells where " \
          "`bind \"http://HOST:PORT?proxy_protocol=on\"` asks for it; behind other proxies use " \
          "Rails' trusted_proxies or Rack::Request#ip",
        %i[rack_url_scheme] => "behind a proxy with TLS let it send X-Forwarded-Proto",
        %i[supported_http_methods] => "every method reaches the application",
        %i[custom_logger log_formatter] => "`log_format :json` has each entry on a line as JSON",
        %i[enable_keep_alives] => "connections are kept; `timeouts { idle 1 }` shortens that",
        %i[idle_timeout] => "the server does not end by itself when it has nothing to do",
        %i[worker_boot_timeout] => "a worker that cannot load the application is told by the log",
        %i[before_thread_start on_thread_start before_thread_exit on_thread_exit] => NO_THREAD,
        %i[out_of_band] =>
          "nothing is called between requests; what it did for garbage collection is not needed",
        %i[before_refork on_refork after_refork after_worker_fork] =>
          "nothing is called there; `before_fork` and `after_fork` are called for each worker",
        %i[before_restart on_restart after_stopped on_stopped after_worker_shutdown] =>
          "nothing is called there; `at_exit` works as ever",
        %i[after_booted on_booted single cluster] =>
          "nothing is called there; code at the end of this file runs before the server listens",
        %i[daemonize] => "the server stays in the foreground: let the service manager run it",
        %i[load] => "there is one file here; bring its lines over"
      }.freeze

      BEFORE_FORK = "different here: called before each worker is forked, in Puma once at boot"

      # Settings with one argument that are called otherwise here.
      RENAMED = {
        environment: "environment %s", pidfile: "pidfile %s", directory: "directory %s",
        first_data_timeout: "timeouts { header %s }", persistent_timeout: "timeouts { idle %s }",
        worker_timeout: "timeouts { worker %s }",
        worker_shutdown_timeout: "timeouts { retire %s }",
        http_content_length_limit: "limits { body_bytes %s }"
      }.freeze
      # Switches: on without an argument.
      SWITCHES = { early_hints: "early_hints", log_requests: "log_requests",
                   preload_app!: "preload_app" }.freeze
      # Blocks that are called at the same time here.
      HOOKS = { before_fork: "before_fork", before_worker_fork: "before_fork",
                on_worker_fork: "before_fork", before_worker_boot: "after_fork",
                on_worker_boot: "after_fork" }.freeze
      PLUGINS = {
        "tmp_restart" => Translation.carried(
          "restart_file \"tmp/restart.txt\"",
          note: "touching it reloads the workers, or restarts a single process"
        ),
        "solid_queue" => Translation.carried("solid_queue true",
                                             note: "runs bin/jobs beside the server")
      }.freeze

      # What takes more than a table.
      METHODS = { port: :port, bind: :bind, ssl_bind: :ssl_bind, workers: :workers,
                  plugin: :plugin, rackup: :rackup, stdout_redirect: :stdout_redirect,
                  force_shutdown_after: :shutdown_time, before_worker_shutdown: :worker_shutdown,
                  on_worker_shutdown: :worker_shutdown,
                  **SWITCHES.transform_values { :switch },
                  **HOOKS.transform_values { :hook } }.freeze
      WITH_VALUE = %i[port bind ssl_bind workers plugin force_shutdown_after].freeze
      # A call that gives a number, whatever it is given.
      NUMBER = /\A(Integer\([^()]*(\([^()]*\)[^()]*)*\)|[\w.:]*(nprocessors|processor_count))\z/

      private

      def switch(statement)
        name = SWITCHES.fetch(statement.word.to_sym)
        Translation.carried("#{name} #{statement.argument || "true"}")
      end

      def hook(statement)
        return Translation.missing(NO_BLOCK) unless statement.block
        return Translation.missing(PARAMETERS) if statement.parameters > 1

        other = of_server(statement) and return other
        name = HOOKS.fetch(statement.word.to_sym)
        note = BEFORE_FORK if statement.word == "before_fork"
        note = "called in each worker, with its number" if name == "after_fork"
        Translation.carried(*RubyText.block(name, statement.block), note: note)
      end

      def port(statement)
        host = statement.arguments[1] || "default_host"
        Translation.carried("bind #{RubyText.address("http", host, statement.argument)}")
      end

      def bind(statement) = PumaBind.new(statement).translation

      def ssl_bind(statement) = PumaBind.of_ssl_bind(statement)

      # A single process is 0 in Puma.
      def workers(statement)
        return Translation.needless("one process is the default") if statement.digits == "0"
        return Translation.carried("workers #{statement.digits}") if statement.digits
        return Translation.carried("workers :auto") if statement.argument == ":auto"

        Translation.carried("workers#{at_least_one(statement.argument)}",
                            note: "1 is a single process; :auto one for each CPU")
      end

      # Puma takes "auto" too, and nil and 0 for a single process.
      def at_least_one(value)
        number = value.match?(NUMBER) && !value.include?("auto")
        return " [#{value}, 1].max" if number

        "((#{value}).then { |n| n.to_s == \"auto\" ? :auto : [Integer(n || 0), 1].max })"
      end

      def plugin(statement)
        name = statement.literal
        PLUGINS[name] ||
          Translation.missing("plugins of Puma do not run here: look for what #{name} does in " \
                              "its documents for other servers")
      end

      def rackup(statement)
        file = statement.literal || "FILE"
        Translation.needless("the file is named on the command line: neverblock #{file}")
      end

      def stdout_redirect(_statement) = Translation.missing(OUTPUT)

      def shutdown_time(statement)
        case statement.literal || statement.digits
        when "forever", "-1"
          Translation.carried("timeouts { shutdown 86_400 }", note: "a day; there is no for ever")
        when "immediately" then Translation.carried("timeouts { shutdown 0 }")
        else Translation.carried("timeouts { shutdown #{statement.argument} }")
        end
      end

      def worker_shutdown(statement)
        if statement.parameters.positive?
          return Translation.missing("call at_exit in after_fork { |number| }")
        end

        return Translation.missing(NO_BLOCK) unless statement.block

        inner = RubyText.block("at_exit", statement.block)
        Translation.carried("after_fork do", *inner.map { |line| "  #{line}".rstrip }, "end",
                            note: "a worker runs its at_exit blocks when it ends")
      end
    end
  end
end
