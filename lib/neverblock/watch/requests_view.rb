# frozen_string_literal: true

# The requests of `neverblock top`: what each of /fibers.json does, as lines of a screen, sorted and
# scrolled by keys.

require "neverblock/watch/columns"
require "neverblock/watch/fiber_row"

module NeverBlock
  module Watch
    class RequestsView
      # Columns that lines are sorted by: header and value. Numbers begin with the largest.
      SORTS = {
        "age" => ->(row) { row.age_s || row.waits_s || 0 },
        "ran" => ->(row) { row.ran_s || 0 },
        "for" => ->(row) { row.waits_s || 0 },
        "worker" => :place.to_proc,
        "request" => :request.to_proc,
        "does" => :doing.to_proc,
        "line" => :line.to_proc
      }.freeze
      NUMBERS = %w[age ran for].freeze
      REQUEST_WIDTH = 40
      KEYS = "q quits  Tab: figures  s: sort by %<next>s  r: reverse  arrows, PgUp/Dn: scroll"
      # Keys that move the first line shown, by so many lines or screens.
      LINES = { "\e[A" => -1, "k" => -1, "\e[B" => 1, "j" => 1 }.freeze
      SCREENS = { "\e[5~" => -1, "\e[6~" => 1 }.freeze

      # @return [Fibers, nil] as of the last reading
      attr_accessor :fibers

      def initialize
        @sort = SORTS.keys.first
        @reversed = false
        @first = 0
        @shown = 1
      end

      # @param key [String] a character, or an escape sequence
      # @return [Boolean] whether the screen changes
      def press(key)
        case key
        when "s" then sort_by_next
        when "r" then @reversed = !@reversed
        when *LINES.keys then scroll(LINES[key])
        when *SCREENS.keys then scroll(SCREENS[key] * @shown)
        else return false
        end
        true
      end

      # @return [String]
      def keys
        format(KEYS, next: following)
      end

      # @param room [Integer] lines
      # @return [Array<Array<Array(String, Symbol)>>] at most so many lines of spans
      def lines(room)
        return [] if room < 1

        rows = sorted
        return [[[nothing, :dim]]] if rows.empty?

        cells = rows.map { |row| row.cells(row.request[0, REQUEST_WIDTH]) }
        header, *texts = Columns.align([titles, *cells], least: 6, left: FiberRow::LEFT)
        part = window(rows.zip(texts), room)
        [[[header, :dim]], *part.map { |row, text| [[text, style(row)]] }].first(room)
      end

      private

      def sorted
        rows = fibers ? fibers.rows.sort_by(&SORTS.fetch(@sort)) : []
        NUMBERS.include?(@sort) == @reversed ? rows : rows.reverse
      end

      def sort_by_next
        @sort = following
        @first = 0
      end

      def following
        SORTS.keys[(SORTS.keys.index(@sort) + 1) % SORTS.size]
      end

      def scroll(lines)
        @first = [@first + lines, 0].max
      end

      # The header has a line of the room, and so has what is not shown.
      def window(pairs, room)
        @shown = [room - 1, 1].max
        @shown -= 1 if pairs.size > @shown && @shown > 1
        @first = [@first, [pairs.size - @shown, 0].max].min
        part = pairs[@first, @shown]
        hidden = pairs.size - part.size
        hidden.positive? ? [*part, [nil, rest(part.size, pairs.size)]] : part
      end

      def rest(shown, count)
        "#{@first + 1} to #{@first + shown} of #{count}#{more}"
      end

      def more
        left = fibers.left_out
        left.positive? ? ", and #{left} that the server left out" : ""
      end

      def nothing
        fibers ? "no request is under way" : "what requests do is not known yet"
      end

      def titles
        down = NUMBERS.include?(@sort) != @reversed
        FiberRow::HEADER.map do |name|
          name == @sort ? "#{name} #{down ? "\u25be" : "\u25b4"}" : name
        end
      end

      # A stall is said in words too, for readers without colours.
      def style(row)
        return :dim unless row
        return :bad if row.document.text("stalls_in")

        { "running" => :good, "ready" => :warning }[row.state]
      end
    end
  end
end
