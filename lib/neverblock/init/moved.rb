# frozen_string_literal: true

# The text of another server's file as it means the same in config/neverblock.rb: paths that are
# relative to the file, and variables whose names are settings here.

require "pathname"
require "ripper"
require "neverblock/config/user_file"
require "neverblock/config/words"

module NeverBlock
  module Init
    module Moved
      FOLDER = File.dirname(Config::UserFile::DEFAULT)
      VARIABLES = %i[LASGN LVAR DASGN DASGN_CURR DVAR].freeze

      class << self
        # @param text [String] valid Ruby
        # @param name [String] of the file, from the application's folder
        # @return [String] with the same lines
        def text(text, name)
          replaced(text, [*places(text, name), *variables(text)])
        end

        private

        # @param changes [Array<Array>] line from 1, column in bytes, old text, new text
        def replaced(text, changes)
          lines = text.lines
          changes.uniq.sort.reverse_each do |line, column, old, new|
            code = lines[line - 1].b
            next unless code[column, old.bytesize] == old.b

            code[column, old.bytesize] = new.b
            lines[line - 1] = code.force_encoding(text.encoding)
          end
          lines.join
        end

        def places(text, name)
          folder = File.dirname(name)
          return [] if folder == FOLDER

          tokens = Ripper.lex(text).reject { |token| token[1] == :on_sp }
          tokens.each_with_index.filter_map do |(place, kind, word), at|
            next if at.positive? && tokens[at - 1][1] == :on_period

            new = place_of(kind, word, folder, name) and [*place, word, new]
          end
        end

        def place_of(kind, word, folder, name)
          return "File.expand_path(#{path(name)}, __dir__)" if kind == :on_kw && word == "__FILE__"
          return unless kind == :on_ident
          return "File.expand_path(#{path(folder)}, __dir__)" if word == "__dir__"

          return unless word == "require_relative"

          "require File.expand_path(#{path(folder)}, __dir__) + \"/\" +"
        end

        # From the folder of config/neverblock.rb.
        def path(path)
          return path.dump if Pathname.new(path).absolute?

          Pathname.new(path).relative_path_from(Pathname.new(FOLDER)).to_s.dump
        end

        # Variables of a block or of a method are no settings.
        def variables(text)
          root = RubyVM::AbstractSyntaxTree.parse(text)
          names = Config::Words.known(nil) & root.children.first.compact
          of_file(root.children.last, names).map do |node|
            name = node.children.first
            [node.first_lineno, node.first_column, name.to_s, "their_#{name}"]
          end
        end

        def of_file(node, names)
          return [] unless node.is_a?(RubyVM::AbstractSyntaxTree::Node)

          names -= node.children.first.compact if node.type == :SCOPE
          here = VARIABLES.include?(node.type) && names.include?(node.children.first) ? [node] : []
          here + node.children.flat_map { |child| of_file(child, names) }
        end
      end
    end
  end
end
