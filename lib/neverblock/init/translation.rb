# frozen_string_literal: true

module NeverBlock
  module Init
    # What became of a setting of another server. kind: :carried (lines are Ruby for
    # config/neverblock.rb), :needless (nothing has to be written here) or :missing (there is no
    # counterpart). note: one sentence or more, or nil.
    Translation = Struct.new(:kind, :lines, :note) do
      # @param lines [Array<String>]
      # @param note [String, nil]
      def self.carried(*lines, note: nil) = new(:carried, lines, note)
      def self.needless(note) = new(:needless, [], note)
      def self.missing(note) = new(:missing, [], note)
    end

    # Makes Ruby text for config/neverblock.rb out of texts of Ruby.
    module RubyText
      module_function

      # @param scheme [String] "http" or "https"
      # @param host [String] text of Ruby
      # @param port [String] text of Ruby
      # @return [String] text of a String with the address
      def address(scheme, host, port)
        "\"#{scheme}://#{host(host)}:#{inside(port)}\""
      end

      # @param text [String] of Ruby
      # @return [String] the same inside of a String with an address
      def host(text)
        name = inside(text)
        name.include?(":") && !name.start_with?("[", "\#{") ? "[#{name}]" : name
      end

      # @param path [String] as inside of a String
      # @param mode [String] as inside of a String: permissions in octal
      # @return [String] text of a String with the address of a UNIX socket
      def socket(path, mode)
        path = "\#{File.expand_path(#{path.dump})}" if path.start_with?("~")
        path = "\#{Dir.pwd}/#{path.delete_prefix("./")}" unless path.start_with?("/", "\#{")
        "\"unix://#{path}?mode=#{mode}\""
      end

      # @param text [String] of Ruby
      # @return [String] the same inside of a String
      def inside(text)
        text[/\A"([^"\\#]*)"\z/, 1] || text[/\A'([^'\\"#]*)'\z/, 1] || text[/\A\d+\z/] ||
          "\#{#{text}}"
      end

      # @param block [String] with do and end, or with braces
      # @return [Array<String>] lines of `WORD BLOCK`, indented as at the top of a file
      def block(word, block) = unindented("#{word} #{block}")

      # @return [Array<String>] the lines; those after the first lose what they are all indented by
      def unindented(text)
        first, *rest = text.lines.map(&:chomp)
        indent = rest.reject(&:empty?).map { |line| line[/\A */].size }.min || 0
        [first, *rest.map { |line| line.delete_prefix(" " * indent) }]
      end
    end
  end
end
