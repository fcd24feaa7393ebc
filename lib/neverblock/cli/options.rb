# frozen_string_literal: true

# The command line of `neverblock serve`, read by OptionParser with the flags of the catalog and checked at once, so that a slip is answered with what was
# seen and what is allowed before an application is loaded.

require "optparse"
require "neverblock/cli/help"
require "neverblock/cli/not_yet"
require "neverblock/config/settings"
require "neverblock/config/user_file"
require "neverblock/config/suggestion"

module NeverBlock
  module CLI
    class Options
      # @param argv [Array<String>]
      # @param env [Hash, ENV]
      # @return [Options]
      # @raise [ConfigError]
      def self.parse(argv, env = ENV)
        new(env).tap { |options| options.send(:parse, argv) }
      end

      # @return [Symbol] :serve, :help, :help_config or :version
      attr_reader :action
      # @return [String, nil] the rackup file, as given
      attr_reader :rackup
      # @return [Hash{Symbol => Object}] what was given, by Config::Option#key
      attr_reader :given

      def initialize(env)
        @env = env
        @action = :serve
        @given = {}
        @arguments = {}
        @parser = OptionParser.new
        add_settings
        add_actions
      end

      # @return [String]
      def help
        Help.text
      end

      # Reads the environment and the configuration file, which finds -e in RACK_ENV.
      # @return [Config::Settings]
      # @raise [ConfigError]
      def settings
        @settings ||= begin
          environment = Config::Environment.new(@env)
          environment.apply_name(@given[:environment]) if @given.key?(:environment)
          Config::Settings.new(command: @given, environment: environment, file: Config::UserFile.read(@given[:config]))
        end
      end

      # @return [Config]
      # @raise [ConfigError]
      def config
        settings.config
      end

      private

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
        ours = Config::Catalog.for_word_of_others(name)
        hint = ours ? "; did you mean #{ours.flag || "#{ours.in_place} of the configuration file"}?" : Suggestion.for(name, names)
        raise ConfigError, "unknown option #{name}#{hint} (neverblock --help lists them all)"
      end

      def refuse_contradiction
        return unless @given.key?(:bind) && (@given.key?(:port) || @given.key?(:host))

        raise ConfigError, "-b names host and port already; leave out #{@given.key?(:port) ? "-p" : "-o"}"
      end

      def rackup_of(words)
        raise ConfigError, "one rackup file is served; seen #{words.join(" ")}" if words.size > 1

        word = words.first
        return word if word.nil? || word.include?("/") || word.include?(".") || File.exist?(word)

        commands = CLI::COMMANDS + NotYet::COMMANDS.keys
        raise ConfigError, "#{word} is a command, and a command comes first: neverblock #{word}" if commands.include?(word)

        shown = word.match?(/\A[\w.-]+\z/) ? word : word.inspect
        raise ConfigError, "no command and no file #{shown}#{Suggestion.for(word, commands)}; commands are #{commands.join(", ")}"
      end

      def add_settings
        Config::Catalog::OPTIONS.reject { |row| row.flags.empty? }.each do |row|
          flags = row.argument ? [*row.flags[0...-1], "#{row.flags.last} #{row.argument}"] : row.flags
          name = row.flags.first.sub("[no-]", "")
          option(*flags) { |value| take(row, name, value) }
        end
      end

      def take(row, name, value)
        found = row.read(value, name)
        @given[row.key] = row.repeat ? row.append(@given[row.key], found, name) : found
      end

      def add_actions
        option("-v", "--version") { @action = :version }
        option("-h", "--help") { @action = :help }
        option("--help-config") { @action = :help_config }
      end

      # One option: registered with the parser, and its names and argument kept for complaints.
      def option(*flags, &block)
        argument = flags.last[/ (\S+)\z/, 1]
        flags.map { |flag| flag[/\A\S+/] }.each do |flag|
          [flag.sub("[no-]", ""), flag.sub("[no-]", "no-")].uniq.each { |name| @arguments[name] = argument }
        end
        @parser.on(*flags, &block)
      end

      def names
        @arguments.keys
      end
    end
  end
end
