# frozen_string_literal: true

# Finds assignments such as `limits { 3.times { queue = 3 } }` in the text of a configuration file:
# they have the name of a setting, nothing reads them, and the setting keeps its value.

require "neverblock/config/catalog"
require "neverblock/config/words"

module NeverBlock
  class Config
    class Assignments
      KINDS = %i[LASGN DASGN].freeze
      READS = %i[LVAR DVAR].freeze
      # Code that is no part of the file's settings; ARGS are a block's parameters.
      OTHERS = %i[DEFN DEFS CLASS MODULE SCLASS LAMBDA ARGS].freeze
      private_constant :KINDS, :READS, :OTHERS

      # @param text [String] of a file that Ruby has accepted
      # @return [Array(Symbol, Integer), nil] name and line of the first one
      def self.unread(text)
        new(text).unread if defined?(RubyVM::AbstractSyntaxTree)
      end

      def initialize(text)
        @tree = parse(text)
      end

      # @return [Array(Symbol, Integer), nil]
      def unread
        @found = []
        search(@tree, nil) if @tree
        return if @found.empty?

        read = names_read(@tree)
        @found.find { |name, _| !read.include?(name) }
      end

      private

      # Ruby has told its warnings when it ran the file. What this parser refuses is not looked at.
      def parse(text)
        before = $VERBOSE
        $VERBOSE = nil
        RubyVM::AbstractSyntaxTree.parse(text)
      rescue SyntaxError, ArgumentError
        nil
      ensure
        $VERBOSE = before
      end

      # @param group [Symbol, nil] whose settings may stand there
      def search(node, group)
        return if OTHERS.include?(node.type)
        return search_block(node, group) if node.type == :ITER

        name = node.children.first
        if KINDS.include?(node.type) && Words.known(group).include?(name)
          @found << [name, node.first_lineno]
        end
        nodes(node).each { |one| search(one, group) }
      end

      # The block of a setting, such as after_fork, is the application's code.
      def search_block(node, group)
        call, body = node.children
        word = call.children.first if call.type == :FCALL
        inside = group.nil? && Catalog.groups.include?(word) ? word : group
        return if inside == group && Words.known(group).include?(word)

        search(body, inside)
      end

      def names_read(node)
        own = READS.include?(node.type) ? [node.children.first] : []
        own + nodes(node).flat_map { |one| names_read(one) }
      end

      def nodes(node)
        node.children.flatten.grep(RubyVM::AbstractSyntaxTree::Node)
      end
    end
  end
end
