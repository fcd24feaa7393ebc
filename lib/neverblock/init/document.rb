# frozen_string_literal: true

require "neverblock/version"

module NeverBlock
  module Init
    # The text of config/neverblock.rb, made of what was found.
    class Document
      WIDTH = 96
      # Longest line of a setting that is quoted.
      QUOTED = 80
      WORDS = { needless: "Nothing to write here", missing: "No counterpart" }.freeze
      EMPTY = <<~TEXT
        # An address for each line. Without any: http://127.0.0.1:9292, or PORT on every address.
        # bind "http://0.0.0.0:9292"

        # Processes that run Ruby: a number, or :auto for one for each CPU. Without it: one.
        # workers :auto

        # The most requests that run at once in a process.
        # fibers 1_024

        # Liveness, readiness, metrics and status, answered even while the application is stuck.
        # admin "http://127.0.0.1:9293"
      TEXT

      # @param sources [Array<RubyFile, Keyed>]
      def initialize(sources)
        @sources = sources
      end

      # @return [String]
      def text
        return "#{head}\n#{EMPTY}" if @sources.empty?

        "#{head}\n#{@sources.map { |source| part(source) }.join("\n")}"
      end

      # @param kind [Symbol] see Translation
      # @return [Array<Entry>] without frames
      def entries(kind)
        @sources.flat_map(&:entries).select { |one| one.place && one.translation.kind == kind }
      end

      private

      def head
        from = @sources.map(&:name).join(" and ")
        made = "Made by `neverblock init`#{" from #{from}" unless from.empty?}."
        "# #{made}\n# Every setting: neverblock --help-config, docs/guides/configuration.md.\n" \
          "#{unread}"
      end

      def unread
        @sources.flat_map { |source| source.unread.to_a }.map { |name|
          "# #{name} is there as well and was not read: `neverblock init #{name}` reads it.\n"
        }.join
      end

      # A line is left empty between two settings; what an `if` holds stands close to it.
      def part(source)
        entries = source.entries
        return "# #{source.name} sets nothing.\n" if entries.empty?

        entries.each_with_index.map do |entry, at|
          text = entry.place ? told(entry) : line(entry)
          "#{text}#{"\n" if apart?(entry, entries[at + 1])}"
        end.join
      end

      def apart?(entry, following)
        return false unless following

        opens = entry.place.nil? && entry.translation.lines != ["end"]
        closes = following.place.nil? && %w[else end].include?(following.translation.lines.first)
        !opens && !closes
      end

      def line(entry)
        entry.translation.lines.map { |text| "#{" " * entry.indent}#{text}\n" }.join
      end

      def told(entry)
        translation = entry.translation
        comments = ["#{entry.place}  #{quoted(entry.text)}".strip]
        comments.concat(wrapped(note_of(translation)))
        indent = " " * entry.indent
        [*comments.map { |text| "#{indent}# #{text}\n" },
         *translation.lines.map { |text| text.empty? ? "\n" : "#{indent}#{text}\n" }].join
      end

      def quoted(text)
        first = text.lines.first.to_s.chomp
        cut = first.size > QUOTED ? "#{first[0, QUOTED]} ..." : first
        text.lines.size > 1 ? "#{cut} ..." : cut
      end

      def note_of(translation)
        note = translation.note
        word = WORDS[translation.kind]
        return "#{word}: #{note}" if word

        note
      end

      # Lines of at most WIDTH characters.
      def wrapped(text)
        return [] unless text

        sentence = text[0].upcase + text[1..]
        sentence = "#{sentence}." unless sentence.end_with?(".")
        sentence.scan(/\S.{0,#{WIDTH - 1}}(?=\s|\z)|\S+/).map(&:strip)
      end
    end
  end
end
