# frozen_string_literal: true

# The command lines of `neverblock stop` and `neverblock reload`, and their --help: which server, found by its pidfile.

require "neverblock/cli/command_line"
require "neverblock/config/settings"
require "neverblock/config/user_file"

module NeverBlock
  module CLI
    class ProcessOptions < CommandLine
      WHICH = <<~TEXT.chomp
        \    --pidfile FILE    the server's pidfile; default: $PIDFILE, or `pidfile` of the configuration file, as
                              the server itself finds it
        -C, --config FILE     that file; default config/neverblock.rb where it exists, - reads none
      TEXT

      HELP = {
        "stop" => <<~TEXT,
          Usage: neverblock stop [options]

          Stops a running server: no further connections, running requests end, then the process does. Waits for that
          and says how it went.

          #{WHICH}
              --now             cut what runs
          -h, --help            show this

          Exit status: 0 when it has ended and every request had its answer (with --now: when it has ended), 1 when not,
          or when there is no such server. Requests have `timeouts shutdown` to end (30 s unless set); then the server
          cuts them.

          Examples:
              neverblock --pidfile tmp/app.pid        start a server that can be found
              neverblock stop --pidfile tmp/app.pid
              neverblock stop --now                   the pidfile of config/neverblock.rb
        TEXT
        "reload" => <<~TEXT
          Usage: neverblock reload [options]

          Brings new code into a running server: new workers start beside the old ones and take over when they are
          ready; old ones finish what they run. No connection is closed, and when the new version cannot start, the old
          one serves on. Waits for that and says how it went. It takes a server with -w 2 or more.

          #{WHICH}
          -h, --help            show this

          Exit status: 0 when the new workers serve; 1 when they could not start (it says why), or when there is no such
          server. What belongs to the front (addresses, limits, timeouts) stays as it was until the server is started
          again.

          Examples:
              neverblock -w auto --pidfile tmp/app.pid
              neverblock reload --pidfile tmp/app.pid || echo "the old version serves on"
        TEXT
      }.freeze

      # @return [Boolean] whether what runs is to be cut
      attr_reader :now

      # @param command [String] "stop" or "reload"
      # @param argv [Array<String>] what follows it
      # @raise [ConfigError]
      def initialize(command, argv)
        @given = {}
        @now = false
        super
      end

      # Reads the configuration file where neither the command line nor the environment names the pidfile.
      # @param env [Hash, ENV]
      # @return [String] absolute path
      # @raise [ConfigError]
      def pidfile(env)
        environment = Config::Environment.new(env)
        named = Config::Settings.new(command: @given, environment: environment)[:pidfile]
        named ||= file[:pidfile]
        named ? File.expand_path(named) : raise(ConfigError, nowhere)
      end

      # @return [Numeric] seconds a server has for its running requests, as far as this command knows
      def shutdown_s
        (@file || {}).fetch(:"timeouts.shutdown") { Config::Catalog[:"timeouts.shutdown"].default }
      end

      private

      def declare
        option("--pidfile FILE") { |path| @given[:pidfile] = Config::Catalog[:pidfile].read(path, "--pidfile") }
        option("-C", "--config FILE") { |path| @config = path }
        option("--now") { @now = true } if @command == "stop"
      end

      def file
        @file ||= Config::UserFile.read(@config)
      end

      def nowhere
        seen = if @config == Config::UserFile::NONE then "no configuration file is read"
               elsif @config || File.exist?(Config::UserFile::DEFAULT) then "#{@config || Config::UserFile::DEFAULT} names none"
               else "there is no #{Config::UserFile::DEFAULT} here"
               end
        "no pidfile: #{seen}. Start the server with --pidfile FILE (in the file: pidfile \"FILE\"), then say --pidfile FILE here too"
      end

      def mend(_word)
        "a pidfile goes with --pidfile, a configuration file with -C"
      end
    end
  end
end
