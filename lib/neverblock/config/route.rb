# frozen_string_literal: true

# What the file says of some paths: route "/uploads", input: :stream. A pattern and the words that hold for it, each checked when read. Matching is the native
# engine's business (core/dispatch/routes.h).

require "neverblock/config/option"
require "neverblock/errors"
require "neverblock/config/suggestion"

module NeverBlock
  class Config
    class Route
      # The native engine's bounds (core/dispatch/routes.h): routes, and bytes of all patterns together.
      MAX = 256
      PATTERN_BYTES_MAX = 16_384

      # What a path may have as it is sent (RFC 3986 section 3.3), and a star at the end.
      PATTERN = %r{\A/[!-~&&[^?#*]]*\*?\z}.freeze
      FORMS = 'an absolute path as "/uploads", or the beginning of one and a star as "/x/*"'

      PATH_PATTERN = Type::Text.new(PATTERN, FORMS)

      # Threads of a lane in each process, where its route does not say.
      AT_ONCE = 4

      # The words of a route, each as the catalog has its settings.
      WORDS = [
        Option.new(name: :input, type: Type::Choice.new(:stream, :whole), default: :whole,
                   help: "whether the application is called when the head is there and reads the body as it comes, or when the body is whole"),
        Option.new(name: :cancel_on_disconnect, type: Type::Flag.new, help: "as the setting of this name, for these paths"),
        Option.new(name: :lane, type: Type::Choice.new(:thread, :fibers), default: :fibers,
                   help: "where requests run: in fibers (said of a route, also where they have stalled), or each on a thread of its own, for code that keeps its thread"),
        Option.new(name: :at_once, type: Type::Whole.new(1..64), default: AT_ONCE, help: "with `lane: :thread`, most requests running at once in a process"),
        Option.new(name: :queue, type: Type::Whole.new(0..1_000_000), help: "with `lane: :thread`, most requests waiting; more: 503. As `limits { queue }` unless given"),
        Option.new(name: :algorithm, type: Type::Algorithm.new, help: "how files are sent, as `sendfile { algorithm }`"),
        Option.new(name: :rate, type: Type::Whole.new(1..10_000_000_000), help: "bytes a second of files to each connection")
      ].freeze

      # @param pattern [String] an absolute path, or the beginning of one and a star
      # @param words [Hash{Symbol => Object}] what holds for it
      # @param what [String] what to call it in the complaint
      # @return [Route]
      # @raise [ConfigError]
      def self.read(pattern, words, what = "route")
        refuse_pattern(pattern, what) unless pattern.is_a?(String) && pattern.valid_encoding? && pattern.match?(PATTERN)
        raise ConfigError, "#{what} #{pattern.inspect} says nothing; it takes #{known}" if words.empty?

        new(pattern, words.to_h { |name, value| read_word(name, value, "#{what} #{pattern.inspect}") }).tap { |route| route.check("#{what} #{pattern.inspect}") }
      end

      # @return [String] the words that work
      def self.known
        WORDS.reject(&:later).map { |word| "#{word.name}: (#{word.type})" }.join(", ")
      end

      def self.read_word(name, value, what)
        word = WORDS.find { |row| row.name.to_s == name.to_s } or raise ConfigError, unknown(name, what)
        [word.name, word.read(value, "#{what} #{name}:")]
      end

      def self.unknown(name, what)
        hint = Suggestion.for(name.to_s, WORDS.map(&:to_s))
        "#{what}: unknown word #{name}#{hint.empty? ? "; a route takes #{known}" : hint}"
      end

      def self.refuse_pattern(pattern, what)
        text = pattern.inspect
        mend = if !pattern.is_a?(String) || !pattern.valid_encoding? then nil
               elsif pattern.include?("?") || pattern.include?("#") then "the path alone counts, not what follows it"
               elsif !pattern.ascii_only? || pattern.include?(" ") then "write it as browsers send it: %20 for a space, %C3%A9 for an \u00e9"
               elsif pattern.match?(/\A[\w*]/) then "it begins with a slash"
               end
        raise ConfigError, "#{what} takes #{FORMS}; seen #{text.length > 80 ? "#{text[0, 80]}..." : text}#{"; #{mend}" if mend}"
      end
      private_class_method :known, :read_word, :unknown, :refuse_pattern

      # @return [String]
      attr_reader :pattern
      # @return [Symbol] :stream or :whole
      attr_reader :input
      # @return [Boolean, nil] nil: as for the whole server
      attr_reader :cancel_on_disconnect
      # @return [Symbol, nil] nil: as for the whole server
      attr_reader :algorithm
      # @return [Integer, nil] bytes a second of files to each connection; nil: as for the whole server
      attr_reader :rate

      # @return [Boolean] whether requests run on threads of their own
      attr_reader :lane
      # @return [Boolean] whether they run in fibers, whatever is learned of them
      attr_reader :in_fibers
      # @return [Integer, nil] of these threads in a process; nil: it has none
      attr_reader :at_once
      # @return [Integer, nil] most requests waiting for one; nil: as for the whole server
      attr_reader :queue

      def initialize(pattern, words)
        @pattern = pattern.dup.freeze
        @input = words.fetch(:input, :whole)
        @cancel_on_disconnect = words[:cancel_on_disconnect]
        @algorithm = words[:algorithm]
        @rate = words[:rate]
        @lane = words[:lane] == :thread
        @in_fibers = words[:lane] == :fibers
        @at_once = words.fetch(:at_once, (AT_ONCE if @lane))
        @queue = words[:queue]
        freeze
      end

      # @raise [ConfigError] when its words do not go together
      def check(what)
        alone = { at_once: at_once, queue: queue }.compact.keys.first
        raise ConfigError, "#{what} #{alone}: goes with lane: :thread" if alone && !lane
      end

      # @param other [Route]
      # @return [Boolean] whether every path of the other is one of this
      def covers?(other)
        pattern == other.pattern || (pattern.end_with?("*") && other.pattern.start_with?(pattern.delete_suffix("*")))
      end

      # @return [String]
      def to_s
        pattern
      end

      # What the word `route` takes: a pattern, and words that hold for it.
      class Line < Type
        def read(value, what)
          value.is_a?(Route) ? value : Route.read(*value, what)
        end

        # The first that matches wins: one behind another that takes all its paths would do nothing.
        def check_after(others, route, what)
          first = others.find { |other| other.covers?(route) }
          raise ConfigError, "#{what} #{route.pattern.inspect} is never reached: #{first.pattern.inspect} before it takes its paths" if first
          return if others.size < MAX && (others + [route]).sum { |one| one.pattern.bytesize } <= PATTERN_BYTES_MAX

          raise ConfigError, "#{what}: #{MAX} routes of #{PATTERN_BYTES_MAX} bytes together are the most; take prefixes with a star"
        end

        def to_s
          "#{FORMS}, and words"
        end

        private

        def join(words, keywords, what)
          return [words.first, keywords] if words.size == 1

          raise ConfigError, "#{what} takes one path and what holds for it, such as #{what} \"/uploads\", input: :stream; seen #{words.size} values"
        end
      end
    end
  end
end
