# frozen_string_literal: true

# A terminal as a screen of our own: entered, drawn on, and given back as it was found, whatever happens between. Escape sequences are those of ECMA-48 and the
# private modes of xterm that every terminal in use has.

require "io/console"

module NeverBlock
  module Watch
    class Terminal
      # The alternate screen, and back; the cursor hidden, and shown.
      ENTER = "\e[?1049h\e[?25l"
      LEAVE = "\e[0m\e[?25h\e[?1049l"
      HOME = "\e[H"
      CLEAR_LINE = "\e[K"
      CLEAR_BELOW = "\e[J"
      STYLES = { bold: "1", dim: "2", good: "32", warning: "33", bad: "1;7;31", graph: "36" }.freeze
      # Where colours are unwelcome (no-color.org) these remain.
      COLOURLESS = { bold: "1", dim: "2", bad: "1;7" }.freeze
      DEFAULT_SIZE = [24, 80].freeze

      # @param output [IO]
      # @param env [Hash, ENV]
      # @return [Boolean] whether a screen can be drawn there
      def self.usable?(output, env)
        output.respond_to?(:tty?) && output.tty? && env["TERM"] != "dumb"
      end

      # @param input [IO, nil] for keys; nil, or no terminal: there are none
      # @param output [IO]
      # @param env [Hash, ENV]
      def initialize(input, output, env)
        @input = input if input.respond_to?(:tty?) && input.tty?
        @output = output
        @styles = env["NO_COLOR"].to_s.empty? ? STYLES : COLOURLESS
      end

      # @return [IO, nil] where keys come from
      attr_reader :input

      # @yield with the screen ours
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

      # Once more does no harm.
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
        rows = lines.map { |spans| "#{spans.map { |text, style| styled(text, style) }.join}#{CLEAR_LINE}" }
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

      # The terminal may be gone (SIGHUP).
      def write_anyway(text)
        @output.write(text)
        @output.flush
      rescue SystemCallError, IOError
        nil
      end
    end
  end
end
