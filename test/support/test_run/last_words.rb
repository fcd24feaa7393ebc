# frozen_string_literal: true

class TestRun
  # What a test process wrote to standard error when it died: Ruby's report of a crash, or the hang
  # guard's stacks. Their beginning tells most.
  class LastWords
    FIRST = /\[BUG\]|\[FATAL\]|\AHANG: /
    MOST_LINES = 60

    # @return [Array<String>] indented, for a reader to whom only the end of a log is shown
    attr_reader :lines

    def initialize
      @lines = []
    end

    # @param line [String]
    # @return [String] the line
    def <<(line)
      if @lines.size < MOST_LINES && (@lines.any? || line.match?(FIRST))
        @lines << "    #{line.chomp[0, 300]}"
      end
      line
    end
  end
end
