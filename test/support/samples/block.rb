# frozen_string_literal: true

module Samples
  # A fenced block of a page.
  Block = Struct.new(:path, :line, :kind, :text, :marker) do
    # @return [String] the page and the line, as in an error message
    def place = "#{path}:#{line}"

    # @return [String, nil] why it is not run
    def reason = marker&.[](/\Anot run, (.+)/, 1)

    # @return [String, nil] the file of samples/in that it stands in
    def inside = marker&.[](/\Ain (\S+)\z/, 1)
  end

  # Finds the fenced blocks of Markdown, also those in lists.
  module Pages
    MARKER = /\A\s*<!-- sample: (.+?) -->\s*\z/
    FENCE = /\A(\s*)(`{3,}|~{3,})\s*(\S*)/

    module_function

    # @return [Array<String>] paths below the project's folder
    def all
      Dir.chdir(ROOT) { ["README.md", "CONTRIBUTING.md", *Dir["docs/**/*.md"]] }
    end

    # @return [Array<Block>]
    def blocks
      all.flat_map { |path| blocks_of(path, File.read(File.join(ROOT, path))) }
    end

    # @param path [String] of the page, for messages
    # @param text [String] Markdown
    # @return [Array<Block>]
    # @raise [ArgumentError] a block does not end
    def blocks_of(path, text)
      lines = text.lines.each_with_index
      found = []
      marker = nil
      loop do
        line, index = lines.next
        if (fence = FENCE.match(line))
          found << Block.new(path, index + 1, fence[3], body(lines, fence, path, index), marker)
        end
        marker = line[MARKER, 1] unless line.strip.empty?
      end
      found
    end

    def body(lines, fence, path, index)
      text = +""
      until (line = lines.next.first).strip == fence[2]
        text << line.delete_prefix(fence[1])
      end
      text
    rescue StopIteration
      raise ArgumentError, "#{path}:#{index + 1}: the block does not end"
    end

    private_class_method :body
  end
end
