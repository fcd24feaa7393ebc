# frozen_string_literal: true

# What `neverblock --help` prints, and the sample configuration file of `neverblock --help-config`: both made from the catalog.

require "neverblock/cli/not_yet"
require "neverblock/config/catalog"

module NeverBlock
  module CLI
    module Help
      Catalog = Config::Catalog
      FLAGS_WIDTH = 26
      WIDTH = 120

      HEAD = <<~TEXT
        Usage: neverblock [serve] [config.ru] [options]

        Serves a Rack application from one process or several, hundreds of requests at once in each: a fiber each, which
        gives way while it waits.
      TEXT

      OTHER = <<~TEXT

        Other:
            -v, --version             show the version
            -h, --help                show this
                --help-config         print a configuration file with every setting, its default and what it is for

        Order: an option of the command line, then the environment ($NAME), then #{Catalog[:config].default}, then the default.
        Signals: TERM and INT let running requests end and stop, a second one cuts them; with workers HUP reloads,
        TTIN and TTOU make one more and one less.
        NB_DEBUG=1 shows the trace of a failed start.

        Examples:
            neverblock                              config.ru of this folder on #{Catalog[:bind].default}
            neverblock app.ru -p 3000 -f 2000       another file, another port, 2000 requests at once
            neverblock -b http://0.0.0.0:8080       reachable from other machines
            neverblock -b http://[::1]:8080 -b "unix:///run/app.sock?mode=0660"
            neverblock -p 0                         any free port; the first line of output says which
            neverblock -e production --pidfile tmp/server.pid --log-format json --log-requests
            neverblock --help-config > #{Catalog[:config].default}
            neverblock -w auto --pidfile tmp/server.pid    a process a CPU; neverblock reload brings new code in
            neverblock check                        what will block or go wrong here (neverblock check --help)
            neverblock files DIR                    serve a folder, nothing else needed (neverblock files --help)
            neverblock stop                         end a running server (neverblock stop --help)
            neverblock reload                       new code, no connection closed (neverblock reload --help)
            neverblock status                       figures of a running server (neverblock status --help)
            neverblock top                          the same, live (neverblock top --help)
            neverblock bench hello                  reproduce a benchmark (neverblock bench --help)
      TEXT

      module_function

      # @return [String]
      def text
        rows = Catalog::OPTIONS.reject { |row| row.flags.empty? }
        working, later = rows.partition { |row| row.later.nil? || row.works.any? }
        sections = working.group_by(&:section).map { |name, list| "\n#{name}:\n#{list.map { |row| entry(row, about(row)) }.join}" }
        "#{HEAD}#{sections.join}#{OTHER}#{not_yet(later)}"
      end

      # @return [String] a configuration file in which every line is a comment
      def sample
        top, grouped = Catalog::OPTIONS.select { |row| row.in_file && row.later.nil? }.partition { |row| row.group.nil? }
        lines = top.map { |row| sample_line(row, "") }
        grouped.group_by(&:group).each do |group, rows|
          lines << "" << "# #{group} {" << rows.map { |row| sample_line(row, "  ") } << "# }"
        end
        <<~TEXT
          # The configuration of NeverBlock, as Ruby. Every line here is the default, or an example: take the # away from what you change.
          # A command-line option and a variable of the environment go before this file. Guide: docs/guides/configuration.md

          #{lines.flatten.join("\n")}
        TEXT
      end

      def about(row)
        parts = [row.help]
        parts << "default #{row.default}" unless row.default.nil? || [true, false].include?(row.default) || row.in_file == false
        parts << "default yes" if row.default == true
        parts << "takes #{row.type}" unless plain?(row)
        parts << "also #{row.env.map { |name| "$#{name}" }.join(", ")}" unless row.env.empty?
        parts << "only #{row.works.join(", ")} works yet" if row.later
        parts.join("; ")
      end

      # Whether the argument's name says it all.
      def plain?(row)
        row.argument.nil? || [Config::Type::FilePath, Config::Type::Text, Config::Type::Whole].include?(row.type.class)
      end

      def not_yet(rows)
        lines = rows.map { |row| entry(row, row.later) }.join
        rest = "    https:// binds, and the command#{"s" if NotYet::COMMANDS.size > 1} #{NotYet::COMMANDS.keys.join(", ")}\n"
        "\nKnown and not working yet; each says so and refuses. What helps meanwhile:\n#{lines}#{rest}"
      end

      def entry(row, words)
        short = row.flags.size > 1 ? "#{row.flags.first}, " : "    "
        flags = "#{short}#{row.flags.last}#{" #{row.argument}" if row.argument}"
        first, *rest = wrap(words, WIDTH - FLAGS_WIDTH - 4)
        lines = flags.length < FLAGS_WIDTH ? ["    #{flags.ljust(FLAGS_WIDTH)}#{first}"] : ["    #{flags}", "#{" " * (FLAGS_WIDTH + 4)}#{first}"]
        [*lines, *rest.map { |line| "#{" " * (FLAGS_WIDTH + 4)}#{line}" }].join("\n") << "\n"
      end

      def sample_line(row, indent)
        code = "# #{indent}#{row.name} #{example(row)}"
        "#{code.ljust(40)} # #{row.help}#{" (#{row.unit})" if row.unit}"
      end

      EXAMPLES = { "timeouts.request": "20", "timeouts.retire": "600", "limits.worker_bytes": "1_073_741_824",
                   before_fork: "{ }", "sendfile.report": '"https://app.example/downloads"', on_download: "{ |report| }", after_fork: "{ |number| }", admin: '"http://127.0.0.1:9293"',
                   directory: '"/srv/app/current"', pidfile: '"tmp/neverblock.pid"', restart_file: '"tmp/restart.txt"', spool_directory: '"/var/tmp"', public_dir: '"public"',
                   cache: '"/assets/*", "public, max-age=31536000, immutable"',
                   mime: '".wasm", "application/wasm"', "sendfile.roots": '"/srv/files"',
                   accel: '"/internal/", "/srv/files"', route: '"/uploads/*", input: :stream' }.freeze

      def example(row)
        return EXAMPLES.fetch(row.key) if row.default.nil?

        row.default.inspect
      end

      def wrap(text, width)
        text.scan(/\S.{0,#{width - 1}}(?=\s|\z)/)
      end

      private_class_method :about, :plain?, :not_yet, :entry, :sample_line, :example, :wrap
    end
  end
end
