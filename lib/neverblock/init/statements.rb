# frozen_string_literal: true

# The statements of a configuration file in Ruby, read without running it: what each says, in the
# text of its author, so that `ENV.fetch("PORT", 3000)` stays that.

require "neverblock/errors"
require "neverblock/config/source_error"

module NeverBlock
  module Init
    # A statement. kind is :call (word, arguments, options, block), :if (condition, body,
    # otherwise; word: "if" or "unless") or :other. All parts are texts. arguments: the positional
    # ones; options: keyword arguments; block: with do and end, or with braces; statements: those
    # in the block; parameters: how many the block takes.
    Statement = Struct.new(:kind, :line, :text, :word, :arguments, :options, :block, :statements,
                           :parameters, :condition, :body, :otherwise, keyword_init: true) do
      # @return [String, nil] the first argument
      def argument = arguments.first

      # @return [String, nil] the value of the first argument where it is a plain String or Symbol
      def literal(text = argument)
        text && (text[/\A"([^"\\#]*)"\z/, 1] || text[/\A'([^'\\]*)'\z/, 1] || text[/\A:(\w+)\z/, 1])
      end

      # @return [String, nil] the digits of the first argument where it is a plain Integer
      def digits(text = argument) = text && text[/\A[\d_]+\z/]&.delete("_")
    end

    # Reads a file by Ruby's own parser.
    class Statements
      # @param text [String]
      # @param name [String] of the file, for errors
      # @return [Array<Statement>]
      # @raise [ConfigError] when it is not Ruby
      def self.read(text, name)
        new(text).all
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
        nodes = node.nil? || node.type != :BLOCK ? [node] : node.children
        nodes.compact.map { |one| statement(one) }
      end

      def statement(node)
        case node.type
        when :FCALL, :VCALL then call(node)
        when :ITER then with_block(node)
        when :IF, :UNLESS then condition(node)
        else Statement.new(kind: :other, line: node.first_lineno, text: source(node))
        end
      end

      def call(node, whole = node)
        positional, options = split(node.type == :FCALL ? node.children[1] : nil)
        Statement.new(kind: :call, line: whole.first_lineno, text: source(whole),
                      word: node.children.first.to_s, arguments: positional, options: options,
                      parameters: 0, statements: [])
      end

      def with_block(node)
        called, scope = node.children
        unless %i[FCALL VCALL].include?(called.type)
          return Statement.new(kind: :other, line: node.first_lineno, text: source(node))
        end

        found = call(called, node)
        found.block = source(scope)
        found.parameters = scope.children[1] ? scope.children[1].children.first : 0
        found.statements = statements_of(scope.children.last)
        found
      end

      def condition(node)
        test, body, otherwise = node.children
        Statement.new(kind: :if, line: node.first_lineno, text: source(node),
                      word: node.type == :IF ? "if" : "unless", condition: source(test),
                      body: statements_of(body), otherwise: statements_of(otherwise))
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
        return @lines[first].byteslice(node.first_column...node.last_column) if first == last

        [@lines[first].byteslice(node.first_column..), *@lines[first + 1...last],
         @lines[last].byteslice(0...node.last_column)].join
      end
    end
  end
end
