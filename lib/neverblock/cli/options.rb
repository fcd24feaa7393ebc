# frozen_string_literal: true

# The command line of `neverblock serve`, read by OptionParser with the flags of the catalog. Values
# are checked at once, so that a mistake is reported before an application is loaded.

require "optparse"
require "neverblock/cli/files_options"
require "neverblock/cli/help"
require "neverblock/cli/others"
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
      # @return [String, nil] the rackup file as given
      attr_reader :rackup
      # @return [Hash{Symbol => Object}] values of the command line, by Config::Option#key
      attr_reader :values

      def initialize(env)
        @env = env
        @action = :serve
        @values = {}
        @arguments = {}
        @parser = OptionParser.new
        add_settings
        add_actions
      end

      # @return [String]
      def help
        Help.text
      end

      # Reads the environment and the configuration file. The file finds the name of -e in RACK_ENV.
      # @return [Config::Settings]
      # @raise [ConfigError]
      def settings
        @settings ||= begin
          environment = Config::Environment.new(@env)
          environment.apply_name(@values[:environment]) if @values.key?(:environment)
          file = Config::UserFile.read(@values[:config])
          Config::Settings.new(command: @values, environment: environment, file: file)
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
        name = e.args.first
        refuse_unknown(name) unless @arguments[name]
        raise ConfigError, "#{name} takes a value: #{name} #{@arguments[name]}"
      rescue OptionParser::NeedlessArgument => e
        raise ConfigError, "#{e.args.first[/\A[^=]+/]} takes no value; got #{e.args.first}"
      rescue OptionParser::ParseError => e
        refuse_unknown(e.args.first)
      end

      # OptionParser itself would accept any prefix of an option, and a new option could change the
      # meaning of an existing script.
      def check_names(argv)
        words = argv.take_while { |word| word != "--" }
        words.grep(/\A--./).each { |word| check_name(word[/\A[^=]+/]) }
        check_name(words.first[0, 2]) if words.first&.match?(/\A-[^-]/)
        words.each_cons(2) do |name, value|
          if @arguments[name]
            refuse_option_as_value(name, value) if names.include?(value)
          elsif value.match?(/\A-[^-]/)
            check_name(value[0, 2])
          end
        end
      end

      def check_name(name)
        refuse_unknown(name) unless names.include?(name)
      end

      # OptionParser would take the next option as the value.
      def refuse_option_as_value(name, value)
        raise ConfigError, "#{name} takes a value: #{name} #{@arguments[name]}; " \
                           "got the option #{value}"
      end

      def refuse_unknown(name)
        mend = Others.option(name)
        raise ConfigError, "there is no option #{name}: #{mend}" if mend

        refuse_setting(name)
        ours = Config::Catalog.for_word_of_others(name)
        hint = ours ? "; did you mean #{name_here(ours)}?" : Suggestion.for(name, names)
        raise ConfigError, "unknown option #{name}#{hint} (neverblock --help lists all options)"
      end

      # The name of a setting without a flag may be the beginning of a flag's: --worker.
      def refuse_setting(name)
        mend = in_file(name) or return
        flags = names.select { |flag| flag.start_with?(name) }
        near = "; did you mean #{flags.first}? If not" if flags.size == 1
        raise ConfigError, "there is no option #{name}#{near}: #{mend}"
      end

      # A setting without a flag.
      def in_file(name)
        word = name.delete_prefix("--").tr("-", "_")
        row = Config::Catalog::OPTIONS.find do |one|
          one.in_file && one.flags.empty? && one.name.to_s == word && name.start_with?("--")
        end
        return unless row

        files = FilesOptions::SETTINGS.key?(name)
        "write #{row.in_place} in #{Config::UserFile::DEFAULT}" \
          "#{"; it is an option of neverblock files" if files}"
      end

      def name_here(row)
        row.flag || "#{row.in_place} of the configuration file"
      end

      def refuse_contradiction
        return unless @values.key?(:bind) && (@values.key?(:port) || @values.key?(:host))

        raise ConfigError, "-b already names host and port; leave out " \
                           "#{@values.key?(:port) ? "-p" : "-o"}"
      end

      def rackup_of(words)
        words.each { |word| refuse_word(word) unless rackup?(word) }
        if words.size > 1
          raise ConfigError, "only one rackup file can be served; got #{words.join(" ")}"
        end

        words.first&.tap { |word| Config::Paths.expand(word) }
      end

      def rackup?(word)
        word.include?("/") || word.include?(".") || File.exist?(word)
      end

      def refuse_word(word)
        if CLI::COMMANDS.include?(word)
          raise ConfigError, "#{word} is a command; a command comes first: neverblock #{word}"
        end

        ours = Others.verb(word)
        raise ConfigError, "there is no command #{word}: write #{ours}" if ours

        shown = word.match?(/\A[\w.-]+\z/) ? word : word.inspect
        raise ConfigError, "there is no command and no file #{shown}" \
                           "#{Suggestion.for(word, [*CLI::COMMANDS, *rackup_files])}; " \
                           "commands are #{CLI::COMMANDS.join(", ")}"
      end

      def rackup_files
        Dir.children(".").grep(/\.ru\z/)
      rescue SystemCallError
        []
      end

      def add_settings
        Config::Catalog::OPTIONS.reject { |row| row.flags.empty? }.each do |row|
          flags = row.flags
          flags = [*flags[0...-1], "#{flags.last} #{row.argument}"] if row.argument
          name = row.flags.first.sub("[no-]", "")
          option(*flags) { |value| take(row, name, value) }
        end
      end

      def take(row, name, value)
        found = row.read(value, name)
        @values[row.key] = row.repeat ? row.append(@values[row.key], found, name) : found
      end

      def add_actions
        option("-v", "--version") { @action = :version }
        option("-h", "--help") { @action = :help }
        option("--help-config") { @action = :help_config }
      end

      # Registers one option with the parser, and records its names and argument for error messages.
      def option(*flags, &block)
        argument = flags.last[/ (\S+)\z/, 1]
        flags.map { |flag| flag[/\A\S+/] }.each do |flag|
          names = [flag.sub("[no-]", ""), flag.sub("[no-]", "no-")].uniq
          names.each { |name| @arguments[name] = argument }
        end
        @parser.on(*flags, &block)
      end

      def names
        @arguments.keys
      end
    end
  end
end
