# frozen_string_literal: true

# The command line of a command other than serve: reads it by OptionParser, and makes every slip one line that says what was seen and what is allowed.
# Each command adds its options in #declare and its --help in HELP.

require "optparse"
require "neverblock/errors"
require "neverblock/config/suggestion"

module NeverBlock
  module CLI
    class CommandLine
      # @return [Boolean]
      attr_reader :help

      # @param command [String] its word
      # @param argv [Array<String>] what follows it
      # @raise [ConfigError]
      def initialize(command, argv)
        @command = command
        @names = []
        @parser = OptionParser.new
        declare
        option("-h", "--help") { @help = true }
        parse(argv)
      end

      # @return [String]
      def help_text
        self.class::HELP.fetch(@command)
      end

      private

      # One option.
      def option(*flags, &block)
        @names.concat(flags.map { |flag| flag[/\A\S+/] })
        @parser.on(*flags, &block)
      end

      def parse(argv)
        check_names(argv)
        words = @parser.parse(argv)
        take_words(words) unless help
      rescue OptionParser::MissingArgument => e
        raise ConfigError, "#{e.args.first} takes a value; see neverblock #{@command} --help"
      rescue OptionParser::NeedlessArgument => e
        raise ConfigError, "#{e.args.first[/\A[^=]+/]} takes no value; seen #{e.args.first}"
      end

      def take_words(words)
        raise ConfigError, "neverblock #{@command} takes options only; seen #{words.first}: #{mend(words.first)}" unless words.empty?
      end

      # OptionParser would take any prefix. (Its require_exact, up to Ruby 3.3, takes --name=value for no name at all.)
      def check_names(argv)
        argv.take_while { |word| word != "--" }.grep(/\A-./).each do |word|
          name = word.start_with?("--") ? word[/\A[^=]+/] : word[0, 2]
          refuse_unknown(word.start_with?("--") ? name : word) unless @names.include?(name)
        end
      end

      # Those that a complaint lists.
      def names_of_help
        @names
      end

      def refuse_unknown(name)
        long = names_of_help.grep(/\A--/)
        raise ConfigError, "neverblock #{@command} has no option #{name}#{Suggestion.for(name, long)} (it has #{long.join(", ")})"
      end
    end
  end
end
