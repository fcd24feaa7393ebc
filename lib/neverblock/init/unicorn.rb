# frozen_string_literal: true

require "neverblock/init/ruby_file"

module NeverBlock
  module Init
    # config/unicorn.rb, by the words of Unicorn 5 and 6.
    class Unicorn < RubyFile
      SERVER = "Unicorn"
      FILES = %w[config/unicorn.rb config/unicorn/production.rb unicorn.rb].freeze

      WORKERS = "a process of Unicorn serves one request at a time, a worker here up to 1,024: " \
                "one for each CPU is enough"

      NEEDLESS = {
        %i[client_body_buffer_size rewindable_input] =>
          "bodies over 64 KB are in a file, and can be read again",
        %i[default_middleware] => "no middleware is added"
      }.freeze
      MISSING = {
        %i[stderr_path stdout_path] => OUTPUT,
        %i[logger] => "`log_format :json` has each entry on a line as JSON",
        %i[user] => "let the service manager start the server as that user",
        %i[after_worker_exit after_worker_ready before_exec worker_exec] =>
          "nothing is called there"
      }.freeze
      RENAMED = { pid: "pidfile %s", working_directory: "directory %s",
                  preload_app: "preload_app %s", early_hints: "early_hints %s",
                  check_client_connection: "cancel_on_disconnect %s" }.freeze
      HOOK = "a block gets the worker's number alone here, and the old master is nobody's to " \
             "end: HUP replaces the workers"

      TRAP = "the server has the signals: TERM drains, and a block that takes TERM would stop " \
             "that; write the rest as after_fork do ... end"
      PARAMETERS = /\A(do|\{)\s*\|([^|]*)\|/.freeze

      METHODS = { worker_processes: :workers, listen: :listen, timeout: :timeout,
                  before_fork: :hook, after_fork: :hook }.freeze
      WITH_VALUE = %i[listen timeout].freeze

      private

      def workers(_statement) = Translation.carried("workers :auto", note: WORKERS)

      # A request of Unicorn that waits is killed too; here it keeps nobody.
      def timeout(statement)
        Translation.carried("timeouts { worker #{statement.argument} }",
                            note: "for a request that keeps its process busy; one that waits " \
                                  "keeps nobody, `timeouts { request }` is for that")
      end

      def listen(statement)
        backlog = statement.options["backlog"]
        bind = "bind #{address(statement)}".sub("bind (", "bind(")
        lines = [bind, *("backlog #{backlog}" if backlog)]
        others = statement.options.keys - %w[backlog umask]
        note = "#{others.join(", ")}: no counterpart" if others.any?
        Translation.carried(*lines, note: note)
      end

      def address(statement)
        return RubyText.address("http", '"0.0.0.0"', statement.digits) if statement.digits

        mode = mode_of(statement.options["umask"])
        text = statement.literal or return by_its_kind(statement.argument, mode)
        text = text.sub(/\A\*:/, "0.0.0.0:")
        return "\"http://0.0.0.0:#{text}\"" if text.match?(/\A\d+\z/)

        path = text[/\Aunix:(.*)/m, 1] || (text if text.start_with?("/", "~"))
        path ? RubyText.socket(path, mode) : "\"http://#{text}\""
      end

      # A socket of Unicorn's is everybody's where nothing is said.
      def mode_of(mask)
        return "0777" unless mask
        return format("0%o", 0o777 & ~mask.to_i(8)) if mask.match?(/\A0[0-7]*\z/)

        "\#{format('0%o', 0777 & ~(#{mask}))}"
      end

      # A path, a port, or a host and a port: an expression tells it when it runs.
      def by_its_kind(value, mode)
        path = value[/\A"(.*)"\z/m, 1]
        if path&.gsub(/\#\{[^{}]*\}/, "")&.match?(%r{(?<!:/)/(?!/)})
          return RubyText.socket(path.delete_prefix("unix:"), mode)
        end

        "((#{value}).to_s.sub(%r{\\A/.*}m) { \"unix://\#{_1}?mode=#{mode}\" }" \
          ".sub(/\\A(?=\\d+\\z)/, \"0.0.0.0:\").sub(%r{\\A(?!unix:)}, \"http://\"))"
      end

      # A block that uses its server or its worker cannot be carried over.
      def hook(statement)
        return Translation.missing(NO_BLOCK) unless statement.block
        return Translation.missing(HOOK) if uses_parameters?(statement)
        return Translation.missing(TRAP) if statement.words.include?(:trap) ||
                                            statement.block.match?(/\bSignal\.trap\b/)

        of_server(statement) || Translation.carried(
          *RubyText.block(statement.word, statement.block.sub(PARAMETERS, '\1'))
        )
      end

      def uses_parameters?(statement)
        names = statement.block[PARAMETERS, 2].to_s.scan(/[a-z_]\w*/)
        statement.variables.map(&:to_s).intersect?(names + %w[_1 _2 it])
      end
    end
  end
end
