# frozen_string_literal: true

# The command line of `neverblock serve`, read by OptionParser and checked at once, so that a slip is answered with what was seen and what is allowed
# before an application is loaded.

require "optparse"
require "neverblock/config"
require "neverblock/config/environment"
require "neverblock/cli/not_yet"
require "neverblock/cli/suggestion"

module NeverBlock
  module CLI
    class Options
      WORKERS_MEANWHILE = "-w 1 is what there is: run one process a core behind a proxy"
      SCHEDULERS = %w[native async].freeze

      # @param argv [Array<String>]
      # @param env [Hash, ENV]
      # @return [Options]
      # @raise [ConfigError]
      def self.parse(argv, env = ENV)
        new(env).tap { |options| options.send(:parse, argv) }
      end

      # @return [Symbol] :serve, :help or :version
      attr_reader :action
      # @return [String, nil] the rackup file, as given
      attr_reader :rackup
      # @return [String, nil] -e
      attr_reader :environment
      # @return [Boolean] whether to switch YJIT on where it is off
      attr_reader :yjit

      def initialize(env)
        @env = env
        @action = :serve
        @binds = []
        @yjit = env["RUBY_YJIT_ENABLE"] != "0"
        @arguments = {}
        build_parser
      end

      # @return [String]
      def help
        @parser.to_s
      end

      # @return [Config]
      # @raise [ConfigError]
      def config
        Config.new(**{ binds: binds, fibers: @fibers }.compact)
      end

      private

      def binds
        return @binds unless @binds.empty?

        [Config::Environment.new(@env).bind(port: @port, host: @host)]
      end

      def parse(argv)
        check_names(argv)
        words = @parser.parse(argv)
        return unless @action == :serve

        refuse_contradiction
        @rackup = rackup_of(words)
      rescue OptionParser::MissingArgument => e
        raise ConfigError, "#{e.args.first} takes a value: #{e.args.first} #{@arguments[e.args.first]}"
      rescue OptionParser::InvalidOption, OptionParser::AmbiguousOption => e
        refuse_unknown(e.args.first)
      rescue OptionParser::NeedlessArgument => e
        raise ConfigError, "#{e.args.first[/\A[^=]+/]} takes no value; seen #{e.args.first}"
      end

      # OptionParser would take any prefix; a script written today must not change its meaning with an option of tomorrow.
      def check_names(argv)
        argv.take_while { |word| word != "--" }.grep(/\A--./).each do |word|
          name = word[/\A[^=]+/]
          refuse_unknown(name) unless names.include?(name)
        end
      end

      def refuse_unknown(name)
        raise ConfigError, "unknown option #{name}#{Suggestion.for(name, names)} (neverblock --help lists them all)"
      end

      def refuse_contradiction
        return if @binds.empty? || (@port.nil? && @host.nil?)

        raise ConfigError, "-b names host and port already; leave out #{@port ? "-p" : "-o"}"
      end

      def rackup_of(words)
        raise ConfigError, "one rackup file is served; seen #{words.join(" ")}" if words.size > 1

        word = words.first
        return word if word.nil? || word.include?("/") || word.include?(".") || File.exist?(word)

        commands = CLI::COMMANDS + NotYet::COMMANDS.keys
        raise ConfigError, "no command and no file #{word}#{Suggestion.for(word, commands)}; commands are #{commands.join(", ")}"
      end

      def build_parser
        @parser = OptionParser.new(nil, 26)
        @parser.banner = "Usage: neverblock [serve] [config.ru] [options]\n\n" \
                         "Serves a Rack application from one process, hundreds of requests at once: a fiber each, which gives way while it waits."
        binding_options
        running_options
        other_options
        examples
        not_yet_options
      end

      def binding_options
        @parser.separator "\nWhere to listen:"
        option("-b", "--bind URL", "#{Config::Bind::FORMS};", "repeatable; default #{Config::DEFAULT_BIND}; port 0: any free one") do |url|
          @binds << Config::Bind.parse(url)
        end
        option("-p", "--port N", "short for -b http://127.0.0.1:N; default $PORT, which means all addresses, or 9292") do |text|
          @port = Config.integer(text, 0..Config::Bind::PORT_MAX, "-p")
        end
        option("-o", "--host HOST", "the address that goes with -p or $PORT") { |host| @host = host_of(host) }
      end

      def host_of(text)
        return text if text.match?(/\A(\[[\h:.]+\]|[\h:.]+|[\w.-]+)\z/)

        raise ConfigError, "-o takes a host name or an address, such as 0.0.0.0; seen #{text.inspect}"
      end

      def running_options
        @parser.separator "\nHow to run:"
        option("-f", "--fibers N", "most requests running at once; default #{Config::DEFAULT_FIBERS}") do |text|
          @fibers = Config.integer(text, 1..Config::FIBERS_MAX, "-f")
        end
        option("-e", "--environment NAME", "sets RACK_ENV and RAILS_ENV; default theirs, or development") { |name| @environment = environment_of(name) }
        option("-w", "--workers N", "processes; 1 is what works yet") { |text| check_workers(text) }
        option("--scheduler NAME", "native (default) is what works yet") { |name| check_scheduler(name) }
        option("--cooperative", "fibers switch only where they wait; this version never does otherwise") { nil }
        option("--[no-]yjit", "switch YJIT on where Ruby can (3.3 and later); default yes") { |wanted| @yjit = wanted }
      end

      def environment_of(name)
        return name if name.match?(/\A[\w.-]+\z/)

        raise ConfigError, "-e takes a name, such as production; seen #{name.inspect}"
      end

      def check_workers(text)
        NotYet.refuse("-w auto", WORKERS_MEANWHILE) if text == "auto"
        count = Config.integer(text, 1..1024, "-w (or auto)")
        NotYet.refuse("-w #{count}", WORKERS_MEANWHILE) if count > 1
      end

      def check_scheduler(name)
        raise ConfigError, "--scheduler is native or async; seen #{name.inspect}" unless SCHEDULERS.include?(name)

        NotYet.refuse("--scheduler async", "native is what there is") if name == "async"
      end

      def other_options
        @parser.separator "\nOther:"
        option("-v", "--version", "show the version") { @action = :version }
        option("-h", "--help", "show this") { @action = :help }
        @parser.separator "\nSignals: TERM and INT let running requests end and stop, a second one cuts them."
        @parser.separator "Environment: PORT, RACK_ENV, RAILS_ENV; an option goes before it. NB_DEBUG=1 shows the trace of a failed start."
      end

      def examples
        @parser.separator <<~TEXT

          Examples:
              neverblock                              config.ru of this folder on #{Config::DEFAULT_BIND}
              neverblock app.ru -p 3000 -f 2000       another file, another port, 2000 requests at once
              neverblock -b http://0.0.0.0:8080       reachable from other machines
              neverblock -b http://[::1]:8080 -b "unix:///run/app.sock?mode=0660"
              neverblock -p 0                         any free port; the first line of output says which
              neverblock bench hello                  reproduce a benchmark (neverblock bench --help)
        TEXT
      end

      def not_yet_options
        @parser.separator "\nKnown and not working yet; each says so and refuses. What helps meanwhile:"
        NotYet::OPTIONS.each do |row|
          option(*row.flags, row.meanwhile) { NotYet.refuse(row.name, row.meanwhile) }
        end
        @parser.separator "    https:// binds, -w 2 and more, --scheduler async, #{NotYet::DEFAULT_CONFIG_FILE}"
        @parser.separator "    the commands #{NotYet::COMMANDS.keys.join(", ")}"
      end

      # One option: registered with the parser, and its names and argument kept for complaints.
      def option(*words, &block)
        flags = words.grep(/\A-/)
        argument = flags.last[/ (\S+)\z/, 1]
        flags.map { |flag| flag[/\A\S+/] }.each do |flag|
          [flag.sub("[no-]", ""), flag.sub("[no-]", "no-")].uniq.each { |name| @arguments[name] = argument }
        end
        @parser.on(*words, &block)
      end

      def names
        @arguments.keys
      end
    end
  end
end
