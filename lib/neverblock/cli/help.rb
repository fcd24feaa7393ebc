# frozen_string_literal: true

# The text of `neverblock --help`, and the sample configuration file of `neverblock --help-config`.
# Both are made from the catalog.

require "neverblock/config/catalog"

module NeverBlock
  module CLI
    module Help
      Catalog = Config::Catalog
      FLAGS_WIDTH = 26
      WIDTH = 100

      HEAD = <<~TEXT
        Usage: neverblock [serve] [config.ru] [options]

        Serves a Rack application from one process or several. Each runs hundreds of requests
        at once, each request in a fiber, which lets others run while it waits.
      TEXT

      OTHER = <<~TEXT

        Other:
            -v, --version             show the version
            -h, --help                show this help
                --help-config         print a configuration file with every setting, its default
                                      and its purpose

        Precedence: a command-line option, then the environment ($NAME), then
        #{Catalog[:config].default}, then the default.
        Signals: TERM and INT let running requests end, then stop the server; a second one
        aborts them. HUP reads certificates anew, USR2 puts a new process in its place
        (neverblock upgrade). With workers, HUP reloads too, TTIN and TTOU add and remove a
        worker.
        NB_DEBUG=1 shows the trace of a failed start.

        Examples:
            neverblock                           config.ru of this folder
            neverblock app.ru -p 3000 -f 2000    another file, another port, 2000 requests at once
            neverblock -b http://0.0.0.0:8080    reachable from other machines
            neverblock -b http://[::1]:8080 -b "unix:///run/app.sock?mode=0660"
            neverblock -p 0                      any free port; the first line of output shows it
            neverblock -e production --pidfile tmp/server.pid --log-format json --log-requests
            neverblock --help-config > #{Catalog[:config].default}
            neverblock -w auto --pidfile tmp/server.pid
                                                 a process for each CPU, for neverblock reload

        Commands (each has its own --help):
            neverblock init                      write config/neverblock.rb, from Puma's or another's
            neverblock check                     what will block or break requests here
            neverblock files DIR                 serve a folder
            neverblock stop                      stop a running server
            neverblock reload                    load new code without closing a connection
            neverblock upgrade                   put a new process in its place, at its sockets
            neverblock status                    figures of a running server
            neverblock fibers                    what each of its requests does and waits for
            neverblock advise                    what they waited for and need not have
            neverblock top                       figures and requests, live
            neverblock bench hello               reproduce a benchmark
      TEXT

      module_function

      # @return [String]
      def text
        rows = Catalog::OPTIONS.reject { |row| row.flags.empty? }
        sections = rows.group_by(&:section).map { |name, list| section(name, list) }
        "#{HEAD}#{sections.join}#{OTHER}"
      end

      # @return [String] a configuration file in which every line is a comment
      def sample
        rows = Catalog::OPTIONS.select { |row| row.in_file && row.later.nil? }
        top, grouped = rows.partition { |row| row.group.nil? }
        lines = top.flat_map { |row| sample_line(row, "") }
        grouped.group_by(&:group).each { |group, list| lines.concat(sample_group(group, list)) }
        <<~TEXT
          # The configuration of NeverBlock, as Ruby. Each setting has its default, or an example.
          # Remove the # before a setting to change it. Command-line options and environment
          # variables take precedence over this file. Guide: docs/guides/configuration.md

          #{lines.join("\n")}
        TEXT
      end

      def section(name, rows)
        "\n#{name}:\n#{rows.map { |row| entry(row, about(row)) }.join}"
      end

      def about(row)
        parts = [row.help]
        parts << default(row)
        parts << "takes #{row.type}" unless plain?(row)
        parts << "also #{row.env.map { |name| "$#{name}" }.join(", ")}" unless row.env.empty?
        parts << "only #{row.works.join(", ")} is supported yet" if row.later
        parts.compact.join("; ")
      end

      # @return [String, nil] nil: there is no default, or the help says it
      def default(row)
        return "default yes" if row.default == true
        return if row.default.nil? || row.default == false || row.in_file == false

        "default #{row.default}"
      end

      TOLD_BY_ARGUMENT = [
        Config::Type::FilePath, Config::Type::Text, Config::Type::Whole
      ].freeze

      # Whether the argument's name says what the value is.
      def plain?(row)
        row.argument.nil? || TOLD_BY_ARGUMENT.include?(row.type.class)
      end

      def entry(row, words)
        short = row.flags.size > 1 ? "#{row.flags.first}, " : "    "
        flags = "#{short}#{row.flags.last}#{" #{row.argument}" if row.argument}"
        first, *rest = wrap(words, WIDTH - FLAGS_WIDTH - 4)
        indent = " " * (FLAGS_WIDTH + 4)
        start = if flags.length < FLAGS_WIDTH then ["    #{flags.ljust(FLAGS_WIDTH)}#{first}"]
                else ["    #{flags}", "#{indent}#{first}"]
                end
        [*start, *rest.map { |line| "#{indent}#{line}" }].join("\n") << "\n"
      end

      def sample_group(group, rows)
        ["", "# #{group} {", *rows.flat_map { |row| sample_line(row, "  ") }, "# }"]
      end

      def sample_line(row, indent)
        code = "# #{indent}#{row.name} #{example(row)}"
        "#{code.ljust(40)} # #{row.help}#{" (#{row.unit})" if row.unit}"
      end

      EXAMPLES = {
        "tls.cert": '"/etc/app/cert.pem"',
        "tls.acme": '"example.org", "www.example.org", email: "me@example.org"',
        "tls.ca": '"/etc/app/clients.pem"',
        "tls.key": '"/etc/app/key.pem"',
        "tls.passphrase_env": '"KEY_PASSPHRASE"',
        "tls.passphrase_command": '"cat /run/secrets/key"',
        "tls.ciphers": '"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"',
        "tls.suites": '"TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"',
        "tls.curves": '"X25519:P-256:P-384"',
        "compression.types": '"application/json"',
        "timeouts.request": "20",
        "timeouts.retire": "600",
        "limits.worker_bytes": "1_073_741_824",
        before_fork: "{ }",
        after_fork: "{ |number| }",
        on_download: "{ |report| }",
        "sendfile.report": '"https://app.example/downloads"',
        "sendfile.roots": '"/srv/files"',
        admin: '"http://127.0.0.1:9293"',
        admin_token: '"a-long-secret-of-your-own"',
        directory: '"/srv/app/current"',
        pidfile: '"tmp/neverblock.pid"',
        restart_file: '"tmp/restart.txt"',
        spool_directory: '"/var/tmp"',
        public_dir: '"public"',
        cache: '"/assets/*", "public, max-age=31536000, immutable"',
        mime: '".wasm", "application/wasm"',
        accel: '"/internal/", "/srv/files"',
        route: '"/uploads/*", input: :stream'
      }.freeze

      def example(row)
        return EXAMPLES.fetch(row.key) if row.default.nil?

        row.default.inspect
      end

      def wrap(text, width)
        text.scan(/\S.{0,#{width - 1}}(?=\s|\z)/)
      end

      private_constant :TOLD_BY_ARGUMENT
      private_class_method :section, :about, :default, :plain?, :entry, :sample_group,
                           :sample_line, :example, :wrap
    end
  end
end
