# frozen_string_literal: true

# The command line of a command other than serve, read by OptionParser. Every mistake is one line
# that tells what was found and what is allowed. Each command declares its options in #declare and
# its --help in HELP.

require "optparse"
require "neverblock/errors"
require "neverblock/config/suggestion"

module NeverBlock
  module CLI
    class CommandLine
      # @return [Boolean]
      attr_reader :help

      # @param command [String] the command's name
      # @param argv [Array<String>] the words after it
      # @raise [ConfigError]
      def initialize(command, argv)
        @command = command
        @names = []
        @with_value = []
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

      # Declares one option.
      def option(*flags, &block)
        names = flags.map { |flag| flag[/\A\S+/] }
        @names.concat(names)
        @with_value.concat(names) if flags.last.include?(" ")
        @parser.on(*flags, &block)
      end

      def parse(argv)
        check_names(argv)
        words = @parser.parse(argv)
        take_words(words) unless help
      rescue OptionParser::MissingArgument => e
        raise ConfigError, "#{e.args.first} takes a value; see neverblock #{@command} --help"
      rescue OptionParser::NeedlessArgument => e
        raise ConfigError, "#{e.args.first[/\A[^=]+/]} takes no value; got #{e.args.first}"
      rescue OptionParser::ParseError => e # in a word of several, such as -hx
        refuse_unknown(e.args.first)
      end

      def take_words(words)
        return if words.empty?

        raise ConfigError, "neverblock #{@command} takes options only; got #{words.first}: " \
                           "#{hint(words.first)}"
      end

      # OptionParser itself would accept any prefix of an option. Its require_exact does not help:
      # up to Ruby 3.3 it refuses --name=value.
      def check_names(argv)
        words = argv.take_while { |word| word != "--" }
        words.grep(/\A-./).each do |word|
          name = word.start_with?("--") ? word[/\A[^=]+/] : word[0, 2]
          refuse_unknown(word.start_with?("--") ? name : word) unless @names.include?(name)
        end
        words.each_cons(2) do |name, value|
          next unless @with_value.include?(name) && @names.include?(value)

          refuse_option_as_value(name, value)
        end
      end

      # OptionParser would take the next option as the value.
      def refuse_option_as_value(name, value)
        raise ConfigError, "#{name} takes a value; got the option #{value}; " \
                           "see neverblock #{@command} --help"
      end

      # The options that an error message lists.
      def names_of_help
        @names
      end

      def refuse_unknown(name)
        long = names_of_help.grep(/\A--/)
        near = Suggestion.for(name, long)
        raise ConfigError, "neverblock #{@command} has no option #{name}#{near}; " \
                           "it has #{long.join(", ")}"
      end
    end
  end
end
