# frozen_string_literal: true

# A terminal used as a full screen: it is entered, drawn on, and always restored. Escape sequences
# are those of ECMA-48, and private modes of xterm that all current terminals have.

require "io/console"

module NeverBlock
  module Watch
    class Terminal
      # Switches to the alternate screen and hides the cursor; and back.
      ENTER = "\e[?1049h\e[?25l"
      LEAVE = "\e[0m\e[?25h\e[?1049l"
      HOME = "\e[H"
      CLEAR_LINE = "\e[K"
      CLEAR_BELOW = "\e[J"
      STYLES = { bold: "1", dim: "2", good: "32", warning: "33", bad: "1;7;31", graph: "36" }.freeze
      # Styles that remain without colours (no-color.org).
      COLOURLESS = { bold: "1", dim: "2", bad: "1;7" }.freeze
      DEFAULT_SIZE = [24, 80].freeze

      # @param output [IO]
      # @param env [Hash, ENV]
      # @return [Boolean] whether a screen can be drawn on the output
      def self.usable?(output, env)
        output.respond_to?(:tty?) && output.tty? && env["TERM"] != "dumb"
      end

      # @param input [IO, nil] source of keys; nil, or no terminal: there are none
      # @param output [IO]
      # @param env [Hash, ENV]
      def initialize(input, output, env)
        @input = input if input.respond_to?(:tty?) && input.tty?
        @output = output
        @styles = env["NO_COLOR"].to_s.empty? ? STYLES : COLOURLESS
      end

      # @return [IO, nil] source of keys
      attr_reader :input

      # @yield with the screen entered
      def borrow
        enter
        yield
      ensure
        leave
      end

      def enter
        @mode = @input&.console_mode
        @input&.raw!(intr: true)
        write(ENTER)
      end

      # May be called more than once.
      def leave
        return unless @entered

        @entered = false
        begin
          write_anyway(LEAVE)
        ensure
          @input.console_mode = @mode if @mode
        end
      end

      # @return [Array(Integer, Integer)] rows and columns
      def size
        found = @output.winsize
        found.all?(&:positive?) ? found : DEFAULT_SIZE
      rescue SystemCallError
        DEFAULT_SIZE
      end

      # @param lines [Array<Array<Array(String, Symbol)>>] see Dashboard#screen
      # @return [void]
      def draw(lines)
        rows = lines.map do |spans|
          "#{spans.map { |text, style| styled(text, style) }.join}#{CLEAR_LINE}"
        end
        write("#{HOME}#{rows.join("\n")}#{CLEAR_BELOW}")
      end

      private

      def styled(text, style)
        code = @styles[style]
        code ? "\e[#{code}m#{text}\e[0m" : text
      end

      def write(text)
        @entered = true
        @output.write(text)
        @output.flush
      end

      # Ignores a closed terminal (SIGHUP).
      def write_anyway(text)
        @output.write(text)
        @output.flush
      rescue SystemCallError, IOError
        nil
      end
    end
  end
end
