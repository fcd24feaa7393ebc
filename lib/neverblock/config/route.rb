# frozen_string_literal: true

# The settings for some paths: route "/uploads", input: :stream. A route is a pattern and its words,
# each checked when it is read. The native engine matches paths against it (core/dispatch/routes.h).

require "neverblock/config/option"
require "neverblock/errors"
require "neverblock/config/suggestion"

module NeverBlock
  class Config
    class Route
      # The native engine's bounds (core/dispatch/routes.h): number of routes, bytes of all
      # patterns.
      MAX = 256
      PATTERN_BYTES_MAX = 16_384

      LANES_MAX = 32

      # Characters of a path in a request (RFC 3986 section 3.3), and a star at the end.
      PATTERN = %r{\A/[!-~&&[^?#*]]*\*?\z}.freeze
      FORMS = 'an absolute path such as "/uploads", or a prefix with a star such as "/x/*"'

      PATH_PATTERN = Type::Text.new(PATTERN, FORMS)

      # Threads of a lane in each process, unless its route sets another number.
      AT_ONCE = 4

      # Whether responses are compressed.
      COMPRESS = Type::Switch.new(:always)

      # The words of a route, declared as the settings of the catalog are.
      WORDS = [
        Option.new(name: :input, default: :whole, type: Type::Choice.new(:stream, :whole),
                   help: "whole: the application is called when the body is complete; stream: " \
                         "when the head is complete, and it reads the body as it arrives"),
        Option.new(name: :cancel_on_disconnect, type: Type::Flag.new,
                   help: "as the setting of this name, for these paths"),
        Option.new(name: :lane, default: :fibers, type: Type::Choice.new(:thread, :fibers),
                   help: "where requests run: in fibers (set for a route, also where they have " \
                         "stalled), or each on a thread of its own, for code that blocks its " \
                         "thread"),
        Option.new(name: :at_once, default: AT_ONCE, type: Type::Whole.new(1..64),
                   help: "with `lane: :thread`, the most requests that run at once in a process; " \
                         "256 in all workers, with more each has its share"),
        Option.new(name: :queue, type: Type::Whole.new(0..1_000_000),
                   help: "with `lane: :thread`, the most requests that wait; a request beyond " \
                         "it gets 503; default `limits { queue }`"),
        Option.new(name: :algorithm, type: Type::Algorithm.new,
                   help: "how files are sent, as `sendfile { algorithm }`"),
        Option.new(name: :rate, type: Type::Whole.new(1..10_000_000_000),
                   help: "bytes a second of each download"),
        Option.new(name: :compress, type: COMPRESS,
                   help: "as the setting of this name, for these paths")
      ].freeze

      # @param pattern [String] an absolute path, or a prefix with a star
      # @param words [Hash{Symbol => Object}] the settings for these paths
      # @param what [String] the setting's name in the error message
      # @return [Route]
      # @raise [ConfigError]
      def self.read(pattern, words, what = "route")
        refuse_pattern(pattern, what) unless pattern?(pattern)
        name = "#{what} #{pattern.inspect}"
        raise ConfigError, "#{name} sets nothing; it takes #{known}" if words.empty?

        found = words.to_h { |word, value| read_word(word, value, name) }
        new(pattern, found).tap { |route| route.check(name) }
      end

      # @param routes [Array<Route>]
      # @param own [Integer] lanes of the server itself
      # @raise [ConfigError] when they have more lanes than there may be
      def self.check_lanes(routes, own)
        most = LANES_MAX - own
        beyond = routes.select(&:lane)[most] or return

        others = ", as #{own} more #{own == 1 ? "lane is" : "lanes are"} the server's own"
        raise ConfigError, "route #{beyond.to_s.inspect}: at most #{most} routes with " \
                           "lane: :thread are allowed#{others unless own.zero?}; " \
                           "replace some by a prefix with a star"
      end

      def self.pattern?(value)
        value.is_a?(String) && value.valid_encoding? && value.match?(PATTERN)
      end

      # @return [String] the words that this version supports
      def self.known
        WORDS.reject(&:later).map { |word| "#{word.name}: (#{word.type})" }.join(", ")
      end

      def self.read_word(name, value, what)
        word = WORDS.find { |row| row.name.to_s == name.to_s }
        raise ConfigError, unknown(name, what) unless word

        [word.name, word.read(value, "#{what} #{name}:")]
      end

      def self.unknown(name, what)
        hint = Suggestion.for(name.to_s, WORDS.map(&:to_s))
        "#{what}: unknown word #{name}#{hint.empty? ? "; a route takes #{known}" : hint}"
      end

      def self.refuse_pattern(pattern, what)
        text = pattern.inspect
        text = "#{text[0, 80]}..." if text.length > 80
        fix = pattern_fix(pattern) if pattern.is_a?(String) && pattern.valid_encoding?
        raise ConfigError, "#{what} takes #{FORMS}; got #{text}#{"; #{fix}" if fix}"
      end

      def self.pattern_fix(pattern)
        if pattern.match?(/[?#]/) then "leave out the query and what follows a #"
        elsif !pattern.ascii_only? || pattern.include?(" ") then PERCENT
        elsif pattern.match?(/\A[\w*]/) then "a path begins with a slash"
        end
      end

      PERCENT = "write it as browsers send it: %20 for a space, %C3%A9 for an \u00e9"
      private_constant :PERCENT
      private_class_method :pattern?, :known, :read_word, :unknown, :refuse_pattern, :pattern_fix

      # @return [String]
      attr_reader :pattern
      # @return [Symbol] :stream or :whole
      attr_reader :input
      # @return [Boolean, nil] nil: as for the whole server
      attr_reader :cancel_on_disconnect
      # @return [Symbol, nil] nil: as for the whole server
      attr_reader :algorithm
      # @return [Integer, nil] bytes a second of files to each connection; nil: as for the whole
      #   server
      attr_reader :rate

      # @return [Boolean, :always, nil] nil: as for the whole server
      attr_reader :compress

      # @return [Boolean] whether requests run on threads of a lane
      attr_reader :lane
      # @return [Boolean] whether they always run in fibers, also after stalls
      attr_reader :in_fibers
      # @return [Integer, nil] threads of the lane in a process; nil: there is no lane
      attr_reader :at_once
      # @return [Integer, nil] most requests that wait for a thread; nil: as for the whole server
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
        @compress = words[:compress]
        freeze
      end

      # @param what [String] the route's name in the error message
      # @raise [ConfigError] when its words contradict each other
      def check(what)
        alone = { at_once: at_once, queue: queue }.compact.keys.first
        return if lane || alone.nil?

        raise ConfigError, "#{what} #{alone}: works only with lane: :thread"
      end

      # @param other [Route]
      # @return [Boolean] whether this pattern matches every path of the other
      def covers?(other)
        return true if pattern == other.pattern

        pattern.end_with?("*") && other.pattern.start_with?(pattern.delete_suffix("*"))
      end

      # @return [String]
      def to_s
        pattern
      end

      # The value of the setting `route`: a pattern and its words.
      class Line < Type
        def read(value, what)
          value.is_a?(Route) ? value : Route.read(*value, what)
        end

        # The first match wins, so a route behind one that covers it would never be used.
        def check_after(others, route, what)
          first = others.find { |other| other.covers?(route) }
          if first
            raise ConfigError, "#{what} #{route.pattern.inspect} is never used: " \
                               "#{first.pattern.inspect} before it matches all its paths"
          end
          return if others.size < MAX && bytes_of([*others, route]) <= PATTERN_BYTES_MAX

          raise ConfigError, "#{what}: at most #{MAX} routes with #{PATTERN_BYTES_MAX} bytes of " \
                             "patterns are allowed; replace some by a prefix with a star"
        end

        def to_s
          "#{FORMS}, and words"
        end

        private

        def bytes_of(routes)
          routes.sum { |route| route.pattern.bytesize }
        end

        def join(words, keywords, what)
          return [words.first, keywords] if words.size == 1

          raise ConfigError, "#{what} takes one path and its words, such as " \
                             "#{what} \"/uploads\", input: :stream; got #{words.size} values"
        end
      end
    end
  end
end
