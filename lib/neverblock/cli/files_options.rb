# frozen_string_literal: true

# The command line of `neverblock files`, and its --help. Neither a configuration file nor the environment has a say: whoever shares a folder for an hour must not
# open it to the network because of a variable.

require "neverblock/cli/command_line"
require "neverblock/config/settings"

module NeverBlock
  module CLI
    class FilesOptions < CommandLine
      HELP = {
        "files" => <<~TEXT
          Usage: neverblock files [DIR] [options]

          Serves the files of a folder (default: this one), nothing else needed: ranges, so that downloads can be resumed and
          films sought in; conditions, so that what has not changed is not sent again; name.gz, .br and .zst beside a file
          in its place to those who take them. A folder with index.html is that page, any other is listed; with
          `Accept: application/json` as JSON. Names that begin with a dot are neither shown nor sent.

          -b, --bind URL        an address to listen on, as often as wanted; default #{Config::Catalog[:bind].default}:
                                this machine alone. http://0.0.0.0:9292 lets everybody in who can reach it
          -p, --port N          short for a bind on this port; 0: any free one
          -o, --host HOST       the address that goes with -p
              --symlinks NAME   links that are followed: inside (default), to what lies in the folder; owner, to what
                                belongs to the link's owner; follow, all
              --log-requests    an entry in the log for each request
              --log-format NAME text or json
              --admin URL       where /health, /metrics and /status.json are answered
              --pidfile FILE    holds the process id, for neverblock stop
          -h, --help            show this

          On a terminal one line shows what is under way. Ctrl-C lets downloads end, once more cuts them.
          Neither config/neverblock.rb nor the environment is read. It is one process: files are sent by native
          threads, without Ruby.

          Examples:
              neverblock files                        this folder, on #{Config::Catalog[:bind].default}
              neverblock files ~/films -p 8000
              neverblock files . -o 0.0.0.0           for the whole network
              neverblock files dist -b unix:///run/dist.sock
              curl -C - -O http://127.0.0.1:9292/large.iso        go on with a download
              curl -H "Accept: application/json" http://127.0.0.1:9292/
        TEXT
      }.freeze

      # What goes with the setting of that name.
      SETTINGS = { "-b" => :bind, "-p" => :port, "-o" => :host, "--symlinks" => :symlinks, "--log-format" => :log_format, "--admin" => :admin,
                   "--pidfile" => :pidfile }.freeze
      INDEX = %w[index.html index.htm].freeze

      # @param argv [Array<String>] what follows the command
      # @raise [ConfigError]
      def initialize(argv)
        @given = {}
        super("files", argv)
      end

      # @return [String] absolute path of the folder
      # @raise [ConfigError]
      def folder
        @folder ||= check_folder(@words.first || ".")
      end

      # @return [Config::Settings]
      # @raise [ConfigError]
      def settings
        check_binds
        Config::Settings.new(command: { public_dir: [folder], index: INDEX, yjit: false, answer_asterisk: 1, **@given })
      end

      private

      def declare
        setting("-b", "--bind URL")
        setting("-p", "--port N")
        setting("-o", "--host HOST")
        setting("--symlinks NAME")
        setting("--log-format NAME")
        setting("--admin URL")
        setting("--pidfile FILE")
        option("--log-requests") { @given[:log_requests] = true }
        %w[-w -f -C].zip(["--workers N", "--fibers N", "--config FILE"]) { |short, long| option(short, long) { refuse_serving(short) } }
      end

      def setting(*flags)
        key = SETTINGS.fetch(flags.first[/\A\S+/])
        row = Config::Catalog[key]
        option(*flags) do |value|
          found = row.read(value, flags.first[/\A\S+/])
          @given[key] = row.repeat ? row.append(@given[key], found, flags.first) : found
        end
      end

      def names_of_help
        @names - %w[-w --workers -f --fibers -C --config]
      end

      def refuse_serving(name)
        raise ConfigError, "neverblock files takes no #{name}: it is one process without a configuration file, and its files are sent by native threads; leave it out"
      end

      def take_words(words)
        raise ConfigError, "neverblock files serves one folder; seen #{words.join(" ")}" if words.size > 1

        @words = words
      end

      def check_binds
        return unless @given.key?(:bind) && (@given.key?(:port) || @given.key?(:host))

        raise ConfigError, "-b names host and port already; leave out #{@given.key?(:port) ? "-p" : "-o"}"
      end

      def check_folder(name)
        path = File.expand_path(name)
        return path if File.directory?(path) && readable?(path, name)

        raise ConfigError, "#{name} is a file: name the folder it is in, neverblock files #{File.dirname(name)}" if File.file?(path)
        raise ConfigError, "#{name} is no folder" if File.exist?(path)

        raise ConfigError, "there is no folder #{name}#{" in #{Dir.pwd}" unless name.start_with?("/", "~")}; neverblock files --help shows how it is used"
      end

      def readable?(path, name)
        return true if File.readable?(path) && File.executable?(path)

        raise ConfigError, "user #{::Process.euid} may not look into #{name}; it takes r and x for it (chmod u+rx)"
      end
    end
  end
end
