# frozen_string_literal: true

# The command lines of `neverblock stop`, `reload` and `upgrade`, and their --help. They find the
# server by its pidfile.

require "neverblock/cli/command_line"
require "neverblock/config/settings"
require "neverblock/config/user_file"

module NeverBlock
  module CLI
    class ProcessOptions < CommandLine
      WHICH = <<~TEXT.chomp
        \    --pidfile FILE    the server's pidfile; default: $PIDFILE, or `pidfile` of the
                              configuration file, as the server itself finds it
        -C, --config FILE     the configuration file; default config/neverblock.rb where it exists;
                              - reads none
      TEXT

      HELP = {
        "stop" => <<~TEXT,
          Usage: neverblock stop [options]

          Stops a running server: it accepts no further connections, running requests end, then
          the process ends. Waits for that and reports the result.

          #{WHICH}
              --now             abort running requests
          -h, --help            show this help

          Exit status: 0 when the server has ended by itself (with --now: when it has ended); 1
          when it was killed or told twice, when requests do not end, or when there is no such
          server. Requests have `timeouts shutdown` to end (30 s unless set); then the server
          closes their connections, which is no failure.

          Examples:
              neverblock --pidfile tmp/app.pid        start a server with a pidfile
              neverblock stop --pidfile tmp/app.pid
              neverblock stop --now                   the pidfile of config/neverblock.rb
        TEXT
        "reload" => <<~TEXT,
          Usage: neverblock reload [options]

          Loads new code into a running server. New workers start beside the old ones and take
          over when they are ready; old ones finish their requests. No connection is closed. When
          the new version cannot start, the old one continues. Waits for that and reports the
          result. The server must run with -w 2 or more; for one process there
          is `neverblock upgrade`.

          #{WHICH}
          -h, --help            show this help

          Exit status: 0 when the new workers serve; 1 when they could not start (the reason is
          printed), or when there is no such server. Settings of the front (addresses, limits,
          timeouts) change only when the server is started again.

          Examples:
              neverblock -w auto --pidfile tmp/app.pid
              neverblock reload --pidfile tmp/app.pid || echo "the old version still serves"
        TEXT
        "upgrade" => <<~TEXT
          Usage: neverblock upgrade [options]

          Starts the server's command again, beside the running one and at the same sockets: with
          new code, new gems, another Ruby, another configuration. When the new process serves, the
          old one lets its requests end, and ends. No connection is refused. When the new one does
          not start, the old one goes on. Waits for that and reports the result. For code alone
          `neverblock reload` is enough, where there are workers.

          #{WHICH}
          -h, --help            show this help

          Exit status: 0 when the new process serves; 1 when it did not start (the reason is
          printed), or when there is no such server. In a container whose first process is the
          server, start a new container instead.

          Examples:
              neverblock --pidfile tmp/app.pid
              neverblock upgrade --pidfile tmp/app.pid || echo "the old process still serves"
        TEXT
      }.freeze

      # @return [Boolean] whether running requests are aborted
      attr_reader :now

      # @param command [String] "stop", "reload" or "upgrade"
      # @param argv [Array<String>] the words after it
      # @raise [ConfigError]
      def initialize(command, argv)
        @values = {}
        @now = false
        super
      end

      # A relative path starts at the file's `directory`, as for the server. What the command line
      # or the environment names needs no file that can be read.
      # @param env [Hash, ENV]
      # @return [String] absolute path
      # @raise [ConfigError]
      def pidfile(env)
        environment = Config::Environment.new(env)
        named = Config::Settings.new(command: @values, environment: environment)[:pidfile]
        named ||= read_file[:pidfile] or raise ConfigError, nowhere
        File.expand_path(named, folder)
      end

      # @return [Numeric] seconds the server gives running requests, as far as this command knows
      def shutdown_s
        (@file || {}).fetch(:"timeouts.shutdown") { Config::Catalog[:"timeouts.shutdown"].default }
      end

      private

      def declare
        option("--pidfile FILE") do |path|
          @values[:pidfile] = Config::Catalog[:pidfile].read(path, "--pidfile")
        end
        option("-C", "--config FILE") { |path| @config = path }
        option("--now") { @now = true } if @command == "stop"
      end

      def file
        @file ||= Config::UserFile.read(@config)
      end

      # The server runs with the file as it was. One that cannot be read now must not keep it going.
      def read_file
        file
      rescue ConfigError => e
        raise e.class, "#{e.message}; --pidfile #{pidfile_in_text} finds the server without " \
                       "reading the file"
      end

      # A file that does not run may still say it in plain letters.
      def pidfile_in_text
        path = @config || Config::UserFile::DEFAULT
        File.binread(path)[%r{^\s*pidfile[ (]+(["'])([\w./-]+)\1}, 2] || "FILE"
      rescue SystemCallError
        "FILE"
      end

      def folder
        file[:directory] || "."
      rescue ConfigError
        "."
      end

      def nowhere
        "no pidfile: #{searched}. Start the server with --pidfile FILE (in the file: " \
          "pidfile \"FILE\"), then give --pidfile FILE here too"
      end

      def searched
        default = Config::UserFile::DEFAULT
        if @config == Config::UserFile::NONE then "no configuration file is read"
        elsif @config || File.exist?(default) then "#{@config || default} sets none"
        else "there is no #{default} here"
        end
      end

      SIGNALS = { "stop" => "TERM", "reload" => "HUP", "upgrade" => "USR2" }.freeze
      private_constant :SIGNALS

      # A number alone may be another program's by now: there is no option for it.
      def hint(word)
        unless word.match?(/\A\d+\z/)
          return "a pidfile goes with --pidfile, a configuration file with -C"
        end

        "the server is found by its pidfile, --pidfile FILE (or pidfile of the configuration " \
          "file, -C FILE); one without a pidfile takes kill -#{SIGNALS.fetch(@command)} #{word}"
      end
    end
  end
end
