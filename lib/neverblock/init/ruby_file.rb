# frozen_string_literal: true

require "neverblock/config/suggestion"
require "neverblock/init/checked"
require "neverblock/init/statements"
require "neverblock/init/translation"
require "neverblock/init/unused"

module NeverBlock
  module Init
    # A setting with what became of it. place: "FILE:LINE"; text: of its author; indent: 2 spaces
    # for each `if` around it. A structure (`if` and its `end`) has lines alone. statement: what it
    # is of.
    Entry = Struct.new(:place, :text, :translation, :indent, :statement, keyword_init: true)

    # A configuration file in Ruby of another server. A subclass names its words in tables. RENAMED:
    # settings with one argument, as a format of ours; NEEDLESS, MISSING: notes by words; METHODS:
    # what gets the Statement and returns the Translation, of words that take more than a table;
    # WITH_VALUE: those of METHODS that mean nothing without an argument.
    class RubyFile
      OUTPUT = "the log goes to standard output and error; the service manager or the shell " \
               "sends it to a file"
      RENAMED = {}.freeze
      METHODS = {}.freeze
      WITH_VALUE = [].freeze
      # Methods of Ruby's Kernel that configuration files call. They are no settings.
      KERNEL = %i[abort at_exit fail p pp print puts raise require require_relative srand trap
                  warn].freeze
      NO_BLOCK = "a block with braces or do is expected"
      HEREDOC = "the value is a heredoc: write it by hand"
      AT_EXIT = "with workers it would run in the front, which has not loaded the application; " \
                "what a worker does at its end is `after_fork { at_exit { ... } }`, which works " \
                "in one process too"
      # What a file that starts several processes becomes, at whatever number.
      WORKERS = /\Aworkers\b(?! 1\z)/.freeze
      # What the servers and their killers of workers are called.
      CONSTANTS = %i[Puma PumaWorkerKiller Unicorn Falcon PhusionPassenger Thin].freeze
      # The value of a variable that may not be there.
      VARIABLE = /\AENV(?:\[[^\[\]]+\]|\.fetch\([^(),]+,\s*nil\))\z/.freeze
      # Libraries that only the other servers need.
      OF_SERVERS = %r{\A(?:async|falcon|passenger|puma|thin|unicorn)(?:\z|[/_-])}.freeze

      # @return [String]
      attr_reader :name
      # @return [Array<String>, nil] names of files of the same server that were not read
      attr_accessor :unread

      # @param text [String]
      # @param name [String] of the file, as its user writes it
      def initialize(text, name)
        @text = text
        @name = name
      end

      # @return [Array<Entry>]
      # @raise [ConfigError]
      def entries
        @entries ||= Unused.left_out(statements.flat_map { |one| entries_of(one, 0) })
      end

      # @return [String]
      def server = self.class::SERVER

      private

      def statements
        @statements ||= Statements.read(@text, @name)
      end

      def entries_of(statement, indent)
        case statement.kind
        when :if then condition(statement, indent)
        when :other then [entry(statement, indent, kept(statement, indent))]
        else [entry(statement, indent, translate(statement))]
        end
      end

      def entry(statement, indent, translation)
        Entry.new(place: "#{@name}:#{statement.line}", text: statement.text,
                  translation: translation, indent: indent, statement: statement)
      end

      # Assignments, constants and whatever else is plain Ruby.
      def kept(statement, indent = 0)
        return Translation.missing(HEREDOC) if statement.kind == :call && statement.heredoc?
        return Translation.missing(HEREDOC) if indent.positive? && statement.indented_heredoc?

        of_server(statement) ||
          Translation.carried(*RubyText.unindented(statement.text))
      end

      # @return [Translation, nil] where the text cannot run outside of the other server
      def of_server(statement)
        words = (statement.words & theirs) - [statement.word&.to_sym]
        if words.any?
          return Translation.missing("#{words.join(", ")} of #{server} in other code is not " \
                                     "translated: write by hand what it sets")
        end

        found = statement.constants & CONSTANTS
        return if found.empty?

        Translation.missing("#{found.join(", ")} is not there; limits { worker_bytes N } " \
                            "replaces a worker by its memory")
      end

      # The words of the other server.
      def theirs
        tables = [self.class::NEEDLESS, self.class::MISSING].flat_map { |table| table.keys.flatten }
        [*tables, *self.class::RENAMED.keys, *self.class::METHODS.keys] -
          Kernel.private_instance_methods
      end

      # An `if` around nothing that is carried over is left out.
      def condition(statement, indent)
        body = under(statement) { statement.body.flat_map { |one| entries_of(one, indent + 2) } }
        otherwise = statement.otherwise.flat_map { |one| entries_of(one, indent + 2) }
        unless (body + otherwise).any? { |one| one.translation.kind == :carried }
          return (body + otherwise).each { |one| one.indent = indent }
        end

        otherwise.unshift(frame("else", indent)) if otherwise.any?
        [frame("#{statement.word} #{statement.condition}", indent, statement), *body, *otherwise,
         frame("end", indent)]
      end

      # Runs the block with the variable of the environment, if any, that is known to be there.
      def under(statement)
        before = @there
        name = variable_of(statement.condition) if statement.word == "if"
        @there = [*before, *name]
        yield
      ensure
        @there = before
      end

      def variable_of(text) = text[VARIABLE] && text[/["'](\w+)["']/, 1]

      def frame(line, indent, statement = nil)
        Entry.new(translation: Translation.carried(line), indent: indent, statement: statement)
      end

      def translate(statement)
        word = statement.word.to_sym
        return kernel(statement) if KERNEL.include?(word)

        return Translation.missing(HEREDOC) if statement.heredoc?

        renamed = self.class::RENAMED[word]
        needs_value = renamed || self.class::WITH_VALUE.include?(word)
        return without_value if needs_value && statement.argument.nil?
        return renamed(statement, renamed) if renamed

        method = self.class::METHODS[word]
        method ? checked(statement, send(method, statement)) : from_tables(word)
      end

      # What takes no nil there is left out here where the variable is not set. A name may be a
      # Symbol there.
      def renamed(statement, format)
        value = statement.argument.sub(/\A:(\w+)\z/, '"\1"').delete_suffix(".to_sym")
        line = format(format, value)
        there = @there.to_a.include?(variable_of(value))
        line = "#{line} if #{value}" if value.match?(VARIABLE) && !there
        checked(statement, Translation.carried(line))
      end

      # What code gives is not known before it runs.
      def checked(statement, translation)
        return translation unless translation.kind == :carried && statement.plain?

        Checked.translation(*translation.lines, note: translation.note)
      end

      def without_value = Translation.missing("it has no value")

      def kernel(statement)
        return Translation.missing(AT_EXIT) if statement.word == "at_exit" && workers?(statements)
        return kept(statement) unless statement.word == "require"
        return kept(statement) unless statement.literal&.match?(OF_SERVERS)

        Translation.needless("#{statement.literal} is not needed")
      end

      # @return [Boolean] whether one of them may start several processes
      def workers?(list)
        list.any? do |one|
          next workers?([*one.body, *one.otherwise]) if one.kind == :if

          self.class::METHODS[one.word&.to_sym] == :workers &&
            translate(one).lines.grep(WORKERS).any?
        end
      end

      # @param word [Symbol]
      def from_tables(word)
        note = look_up(self.class::NEEDLESS, word) and return Translation.needless(note)
        note = look_up(self.class::MISSING, word) and return Translation.missing(note)

        Translation.missing("#{server}'s #{word} is not known to neverblock init: see " \
                            "`neverblock --help-config` for what there is")
      end

      def look_up(table, word) = table.find { |words, _| words.include?(word) }&.last
    end
  end
end
