# frozen_string_literal: true

# The statements of a configuration file in Ruby, read without running it: what each says, in the
# text of its author, so that `ENV.fetch("PORT", 3000)` stays that.

require "neverblock/errors"
require "ripper"
require "neverblock/config/source_error"
require "neverblock/init/moved"

module NeverBlock
  module Init
    # A statement. kind is :call (word, arguments, options, block), :if (condition, body,
    # otherwise; word: "if" or "unless") or :other. All parts are texts. arguments: the positional
    # ones; options: keyword arguments; block: with do and end, or with braces; statements: those
    # in the block; parameters: how many the block names, without keywords; words: methods that are
    # called without a receiver; constants, strings and variables (those that are read): all that it
    # holds; of an :if, variables are those of its condition. sets: the variable that it gives a
    # value, and does nothing else.
    Statement = Struct.new(:kind, :line, :text, :word, :arguments, :options, :block, :statements,
                           :parameters, :condition, :body, :otherwise, :words, :constants,
                           :strings, :variables, :sets, keyword_init: true) do
      # @return [Boolean] whether it is a call with nothing but values: no code, no block
      def plain?
        block.nil? && [*arguments, *options.values].all?(Statements::PLAIN)
      end

      # @return [String, nil] the first argument
      def argument = arguments.first

      # @return [String, nil] the value of the first argument where it is a plain String or Symbol
      def literal(text = argument)
        text && (text[/\A"([^"\\#]*)"\z/, 1] || text[/\A'([^'\\]*)'\z/, 1] || text[/\A:(\w+)\z/, 1])
      end

      # @return [Boolean] whether the text of an argument lies elsewhere
      def heredoc?
        [*arguments, *options&.values].any? do |one|
          one.include?("<<") && Ripper.lex(one).any? { |_, kind| kind == :on_heredoc_beg }
        end
      end

      # @return [Boolean] whether spaces before its lines would change a heredoc
      def indented_heredoc?
        starts = Ripper.lex(text).select { |_, kind| kind == :on_heredoc_beg }
        starts.any? { |_, _, word| !word.start_with?("<<~") }
      end

      # @return [String, nil] the first argument where it is a plain Integer
      def digits(text = argument) = text && text[/\A-?[\d_]+\z/]&.delete("_")
    end

    # Reads a file by Ruby's own parser.
    class Statements
      BLANK = %i[on_sp on_nl on_ignored_nl on_comment on_semicolon].freeze
      # The text of a value: a number, a String without code, a Symbol, true, false, nil.
      PLAIN = /\A(?:-?\d[\d_]*(?:\.\d+)?|"[^"\\#]*"|'[^'\\]*'|:\w+|true|false|nil)\z/.freeze
      # In place of the name of the rest where a list of parameters ends with a comma.
      COMMA = :NODE_SPECIAL_EXCESSIVE_COMMA

      # @param text [String]
      # @param name [String] of the file, for errors
      # @return [Array<Statement>]
      # @raise [ConfigError] when it is not Ruby
      def self.read(text, name)
        RubyVM::AbstractSyntaxTree.parse(text)
        new(Moved.text(text, name)).all
      rescue SyntaxError
        raise ConfigError, complaint(text, name)
      end

      # The tree's own error has no line before Ruby 3.4.
      def self.complaint(text, name)
        RubyVM::InstructionSequence.compile(text, name)
        "#{name} is not valid Ruby"
      rescue SyntaxError => e
        SourceError.describe(e, name)
      end
      private_class_method :complaint

      def initialize(text)
        @lines = text.lines
        @tree = RubyVM::AbstractSyntaxTree.parse(text)
      end

      def all = statements_of(@tree.children.last)

      private

      def statements_of(node)
        return [] if nothing?(node)
        if %i[BLOCK BEGIN].include?(node.type)
          return node.children.flat_map { |one| statements_of(one) }
        end

        [statement(node)]
      end

      # A text without statements is a :BEGIN around nil, also below Prism.
      def nothing?(node)
        node.nil? || (node.type == :BEGIN && node.children.compact.empty?)
      end

      def statement(node)
        case node.type
        when :FCALL, :VCALL then call(node)
        when :ITER then with_block(node)
        when :IF, :UNLESS then condition(node)
        when :RESCUE, :ENSURE then guarded(node)
        else other(node)
        end
      end

      def other(node, text = with_heredocs(node), line = node.first_lineno)
        sets = node.children.first.to_s if node.type == :LASGN
        Statement.new(kind: :other, line: line, text: text, sets: sets, **inside(node))
      end

      # A node ends before the text of the heredocs in its last line.
      def with_heredocs(node)
        text = source(node)
        return text unless heredoc?(text)

        @lines.drop(node.last_lineno).each do |line|
          break if Ripper.sexp(text)

          text = "#{text.chomp}\n#{line}"
        end
        text
      end

      def heredoc?(text) = Ripper.lex(text).any? { |_, kind| kind == :on_heredoc_beg }

      # The place of such a node leaves out its `begin`, and what follows its first part.
      def guarded(node)
        tokens = Ripper.lex(@lines.join)
        start = [node.first_lineno, node.first_column]
        before = tokens.take_while { |place,| (place <=> start).negative? }
        before.reject! { |_, kind| BLANK.include?(kind) }
        opening = before.reverse.take_while { |_, kind, word| kind == :on_kw && word == "begin" }
        first = opening.last&.first || start
        other(node, whole(tokens.drop_while { |place,| (place <=> first).negative? }), first.first)
      end

      # The shortest text from the first token on that is Ruby, has its `rescue` or `ensure`, and
      # ends where a line does.
      def whole(tokens)
        text = +""
        tokens.each do |_, kind, word|
          ends = %i[on_nl on_ignored_nl on_comment].include?(kind)
          return text.strip if ends && text.match?(/\b(rescue|ensure)\b/) && Ripper.sexp(text)

          text << word
        end
        text.strip
      end

      def inside(node)
        nodes = nodes_of(node)
        { words: names(nodes, :FCALL, :VCALL), constants: names(nodes, :CONST, :COLON3),
          variables: names(nodes, :LVAR, :DVAR),
          strings: nodes.select { |one| %i[STR DSTR].include?(one.type) }
                        .map { |one| source(one) } }
      end

      def names(nodes, *types)
        nodes.select { |one| types.include?(one.type) }.map { |one| one.children.first }.uniq
      end

      def nodes_of(node)
        return [] unless node.is_a?(RubyVM::AbstractSyntaxTree::Node)

        [node, *node.children.flat_map { |child| nodes_of(child) }]
      end

      def call(node, whole = node)
        positional, options = split(node.type == :FCALL ? node.children[1] : nil)
        Statement.new(kind: :call, line: whole.first_lineno, text: source(whole),
                      word: node.children.first.to_s, arguments: positional, options: options,
                      parameters: 0, statements: [], **inside(whole))
      end

      def with_block(node)
        called, scope = node.children
        unless %i[FCALL VCALL].include?(called.type)
          return other(node)
        end

        found = call(called, node)
        found.block = source(scope)
        found.parameters = parameters(scope.children[1])
        found.statements = statements_of(scope.children.last)
        found
      end

      def parameters(node)
        return 0 unless node

        before, _, optional, _, after, _, rest = node.children
        count = before + after.to_i
        count += 1 if rest && rest != COMMA
        while optional
          count += 1
          optional = optional.children.last
        end
        count
      end

      def condition(node)
        test, body, otherwise = node.children
        Statement.new(kind: :if, line: node.first_lineno, text: source(node),
                      word: node.type == :IF ? "if" : "unless", condition: source(test),
                      body: statements_of(body), otherwise: statements_of(otherwise),
                      variables: names(nodes_of(test), :LVAR, :DVAR))
      end

      # Keyword arguments are a Hash without braces.
      def split(list)
        nodes = list.nil? ? [] : list.children.compact
        hash = nodes.pop if nodes.last&.type == :HASH
        pairs = hash ? hash.children.first&.children.to_a.each_slice(2).select(&:last) : []
        # `**others` has no name.
        options = pairs.select(&:first).to_h do |name, value|
          [source(name)[/\w+/], source(value)]
        end
        [nodes.map { |node| source(node) }, options]
      end

      # Columns are bytes.
      def source(node)
        first, last = node.first_lineno - 1, node.last_lineno - 1
        column = first_column(node)
        return @lines[first].byteslice(column...node.last_column) if first == last

        [@lines[first].byteslice(column..), *@lines[first + 1...last],
         @lines[last].byteslice(0...node.last_column)].join
      end

      # The place of a negative number may leave out its sign.
      def first_column(node)
        column = node.first_column
        value = node.children.first
        return column unless value.is_a?(Numeric) && value.real? && value.negative?

        signs = @lines[node.first_lineno - 1].b[[column - 1, 0].max, 2]
        signs.match?(/\A-[^-]/) && column.positive? ? column - 1 : column
      end
    end
  end
end
