# frozen_string_literal: true

# The command line of `neverblock files`, and its --help. It reads neither the configuration file
# nor the environment: a variable must not open a shared folder to the network.

require "neverblock/cli/command_line"
require "neverblock/config/settings"

module NeverBlock
  module CLI
    class FilesOptions < CommandLine
      HELP = {
        "files" => <<~TEXT
          Usage: neverblock files [DIR] [options]

          Serves the files of a folder (default: the current one); it needs nothing else.
          Ranges resume downloads and seek in films. Conditional requests avoid sending
          unchanged files again. name.gz, .br or .zst beside a file is sent instead of it to
          clients that accept the coding. A folder with index.html shows that page; any other
          folder is listed, with `Accept: application/json` as JSON. Names that begin with a
          dot are neither listed nor sent.

          -b, --bind URL        an address to listen on; may be given several times; default
                                #{Config::Catalog[:bind].default}: this machine alone.
                                http://0.0.0.0:9292 admits everybody who can reach it
          -p, --port N          short for a bind on this port; 0: any free port
          -o, --host HOST       the address that goes with -p
              --symlinks NAME   which links are followed: inside (default): those to targets
                                in the folder; owner: those to targets of the link's owner;
                                follow: all
              --log-requests    log an entry for each request
              --log-format NAME text or json
              --admin URL       where /health, /metrics and /status.json are answered
              --pidfile FILE    holds the process id, for neverblock stop
          -h, --help            show this help

          On a terminal one line shows the running downloads. Ctrl-C lets them end, then
          stops the server; a second Ctrl-C aborts them. Neither config/neverblock.rb nor the
          environment is read. The server is one process; native threads send the files.

          Examples:
              neverblock files                       this folder
              neverblock files ~/films -p 8000
              neverblock files . -o 0.0.0.0          for the whole network
              neverblock files dist -b unix:///run/dist.sock
              curl -C - -O http://127.0.0.1:9292/large.iso       resume a download
              curl -H "Accept: application/json" http://127.0.0.1:9292/
        TEXT
      }.freeze

      # Options and their settings.
      SETTINGS = { "-b" => :bind, "-p" => :port, "-o" => :host, "--symlinks" => :symlinks,
                   "--log-format" => :log_format, "--admin" => :admin,
                   "--pidfile" => :pidfile }.freeze
      # Options of `neverblock serve` that people try here.
      SERVE_ONLY = { "-w" => "--workers N", "-f" => "--fibers N", "-C" => "--config FILE" }.freeze
      INDEX = %w[index.html index.htm].freeze

      # @param argv [Array<String>] the words after the command
      # @raise [ConfigError]
      def initialize(argv)
        @values = {}
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
        fixed = { public_dir: [folder], index: INDEX, yjit: false, answer_asterisk: 1 }
        Config::Settings.new(command: { **fixed, **@values })
      end

      private

      def declare
        ["--symlinks NAME", "--log-format NAME", "--admin URL", "--pidfile FILE"].each do |flag|
          setting(flag)
        end
        setting("-b", "--bind URL")
        setting("-p", "--port N")
        setting("-o", "--host HOST")
        option("--log-requests") { @values[:log_requests] = true }
        SERVE_ONLY.each { |short, long| option(short, long) { refuse_serving(short) } }
      end

      def setting(*flags)
        key = SETTINGS.fetch(flags.first[/\A\S+/])
        row = Config::Catalog[key]
        option(*flags) do |value|
          found = row.read(value, flags.first[/\A\S+/])
          @values[key] = row.repeat ? row.append(@values[key], found, flags.first) : found
        end
      end

      def names_of_help
        @names - SERVE_ONLY.keys - SERVE_ONLY.values.map { |long| long[/\S+/] }
      end

      def refuse_serving(name)
        raise ConfigError, "neverblock files has no option #{name}: it is one process without a " \
                           "configuration file, and native threads send the files; leave it out"
      end

      def take_words(words)
        if words.size > 1
          raise ConfigError, "neverblock files serves one folder; got #{words.join(" ")}"
        end

        @words = words
      end

      def check_binds
        return unless @values.key?(:bind) && (@values.key?(:port) || @values.key?(:host))

        raise ConfigError, "-b already names host and port; leave out " \
                           "#{@values.key?(:port) ? "-p" : "-o"}"
      end

      def check_folder(name)
        path = Config::Paths.expand(name)
        return path if File.directory?(path) && readable?(path, name)

        if File.file?(path)
          raise ConfigError, "#{name} is a file; name its folder: " \
                             "neverblock files #{File.dirname(name)}"
        end
        raise ConfigError, "#{name} is not a folder" if File.exist?(path)

        where = " in #{Dir.pwd}" unless name.start_with?("/", "~")
        raise ConfigError, "there is no folder #{name}#{where}#{near_folder(path)}; " \
                           "see neverblock files --help"
      end

      def near_folder(path)
        beside = File.dirname(path)
        names = Dir.children(beside).select { |name| File.directory?(File.join(beside, name)) }
        Suggestion.for(File.basename(path), names)
      rescue SystemCallError
        ""
      end

      def readable?(path, name)
        return true if File.readable?(path) && File.executable?(path)

        raise ConfigError, "user #{::Process.euid} may not read the folder #{name}; " \
                           "it needs the permissions r and x (chmod u+rx)"
      end
    end
  end
end
