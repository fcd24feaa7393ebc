# frozen_string_literal: true

# What values a setting takes. A type reads what was given, as text (command line, environment) or as a Ruby value (configuration file), into the value
# the server works with, and says in one line what is allowed when it cannot.

require "neverblock/algorithms"
require "neverblock/errors"

module NeverBlock
  class Config
    class Type
      # What a type finds in a value that is none of its own.
      MISMATCH = Object.new.freeze

      # @param value what was given
      # @param what [String] what to call it in the complaint
      # @return the value to work with
      # @raise [ConfigError]
      def read(value, what)
        found = convert(value)
        return found unless found.equal?(MISMATCH)

        raise ConfigError, "#{what} is #{self}; seen #{shown(value)}"
      end

      # @param words [Array] what a word of the file was given
      # @param keywords [Hash{Symbol => Object}] the same
      # @param block [Proc, nil] the same
      # @param what [String] the word
      # @return [Object] the one value that read takes
      # @raise [ConfigError]
      def gather(words, keywords, block, what)
        raise ConfigError, "#{what} takes no block" if block

        join(words, keywords, what)
      end

      # @param others [Array] what the same word was given before
      # @param value [Object] what it is given now
      # @param what [String] the word
      # @return [void]
      # @raise [ConfigError] when it makes no sense after them
      def check_after(others, value, what); end

      # @!method convert(value)
      #   @return the value to work with, or MISMATCH

      # @!method to_s
      #   @return [String] what is allowed, to follow "is"

      private

      # Of a word without a block.
      def join(words, keywords, what)
        return words.first if words.size == 1 && keywords.empty?

        raise ConfigError, "#{what} takes one value; seen #{words.size + keywords.size}"
      end

      # An object's own inspect may be pages long.
      def shown(value)
        text = value.inspect
        text.length > 80 ? "#{text[0, 80]}..." : text
      end

      # A number within a range.
      class Within < Type
        attr_reader :range

        def initialize(range)
          super()
          @range = range
        end

        def convert(value)
          number = number_of(value)
          number && range.cover?(number) ? number : MISMATCH
        end

        def to_s
          "#{self.class::KIND} from #{range.begin} to #{range.end}"
        end
      end

      class Whole < Within
        KIND = "a whole number"

        private

        def number_of(value)
          return value if value.is_a?(Integer)

          Integer(value, 10) if value.is_a?(String) && value.match?(/\A[0-9]{1,19}\z/)
        end
      end

      # May have a fraction.
      class Seconds < Within
        KIND = "a number of seconds"

        private

        def number_of(value)
          return value if value.is_a?(Numeric) && value.real?

          Float(value) if value.is_a?(String) && value.match?(/\A\d{1,10}(\.\d{1,6})?\z/)
        end
      end

      # One of some names: a symbol, or the same as text.
      class Choice < Type
        attr_reader :names

        def initialize(*names)
          super()
          @names = names.freeze
        end

        def convert(value)
          return MISMATCH unless value.is_a?(Symbol) || value.is_a?(String)

          names.find { |name| name.to_s == value.to_s } || MISMATCH
        end

        # For the native engine, which counts them from 0.
        def range
          0..(names.size - 1)
        end

        def number(name)
          names.index(name)
        end

        def to_s
          names.size > 1 ? "#{names[0...-1].join(", ")} or #{names.last}" : names.first.to_s
        end
      end

      # The name of a way to send files: one of the core's, or of a gem's that the file has loaded before.
      class Algorithm < Choice
        def names
          Algorithms.names
        end

        # For the native engine, which counts them from 1.
        def number(name)
          Algorithms.number(name)
        end

        def range
          1..ALGORITHMS_MAX
        end

        # As many as core/send/algorithms.h has room for.
        ALGORITHMS_MAX = 16
        private_constant :ALGORITHMS_MAX
      end

      # true or false.
      class Flag < Type
        WORDS = { "true" => true, "yes" => true, "1" => true, "false" => false, "no" => false, "0" => false }.freeze

        def convert(value)
          return value if [true, false].include?(value)

          value.is_a?(String) ? WORDS.fetch(value, MISMATCH) : MISMATCH
        end

        def to_s
          "true or false"
        end

        # For the native engine.
        def range
          0..1
        end
      end

      # No value at all.
      class Nothing < Type
        def convert(value)
          value.nil? ? nil : MISMATCH
        end

        def to_s
          "nil"
        end
      end

      # What any of several types takes.
      class Either < Type
        def initialize(*types)
          super()
          @types = types.freeze
        end

        def convert(value)
          @types.each do |type|
            found = type.convert(value)
            return found unless found.equal?(MISMATCH)
          end
          MISMATCH
        end

        def to_s
          @types.join(", or ")
        end

        # For the native engine, where nil is 0.
        def range
          found = @types.grep(Within).first.range
          @types.any?(Nothing) ? 0..found.end : found
        end
      end

      # Text of a certain form.
      class Text < Type
        def initialize(pattern, description)
          super()
          @pattern = pattern
          @description = description
        end

        def convert(value)
          value.is_a?(String) && value.valid_encoding? && value.match?(@pattern) ? value : MISMATCH
        end

        def to_s
          @description
        end
      end

      # A path of a file or folder: a string, or a Pathname.
      class FilePath < Type
        def convert(value)
          value = value.to_path if value.respond_to?(:to_path)
          value.is_a?(String) && !value.empty? && !value.include?("\0") ? value : MISMATCH
        end

        def to_s
          "a path"
        end
      end

      # Two values that go together.
      class Pair < Type
        # @param first [Type]
        # @param second [Type]
        # @param example [String] both, as they are written in the file
        def initialize(first, second, example)
          super()
          @types = [first, second].freeze
          @example = example
        end

        def read(value, what)
          pair = Array(value)
          refuse_count(pair.size, what) unless pair.size == 2

          @types.zip(pair, %w[first second]).map { |type, one, place| type.read(one, "#{what}: the #{place} value") }
        end

        # One row for a key: a second one would do nothing.
        def check_after(others, pair, what)
          raise ConfigError, "#{what} #{pair.first.inspect} is given twice" if others.any? { |other| other.first == pair.first }
        end

        def to_s
          @types.join(", and ")
        end

        private

        def join(words, keywords, what)
          return words if words.size == 2 && keywords.empty?

          refuse_count(words.size + keywords.size, what)
        end

        def refuse_count(seen, what)
          raise ConfigError, "#{what} takes two values, such as #{what} #{@example}; seen #{seen}"
        end
      end

      # A block of the file, called at its time.
      class Block < Type
        # @param arguments [Array<Symbol>] what it is called with
        def initialize(*arguments)
          super()
          @arguments = arguments.freeze
        end

        def gather(words, keywords, block, what)
          return block if block && words.empty? && keywords.empty?

          raise ConfigError, "#{what} takes a block and nothing else: #{what} #{form}"
        end

        def convert(value)
          value.is_a?(Proc) && callable?(value) ? value : MISMATCH
        end

        def to_s
          "a block #{form}"
        end

        private

        def form
          "{ #{"|#{@arguments.join(", ")}| " unless @arguments.empty?}... }"
        end

        # A lambda, and a method given as a block, take what they say and no more.
        def callable?(block)
          return true unless block.lambda?

          block.arity.negative? ? ~block.arity <= @arguments.size : block.arity == @arguments.size
        end
      end

      # An address to listen on; its reader has better complaints of its own.
      class Address < Type
        def read(value, what)
          raise ConfigError, "#{what} is #{self}; seen #{shown(value)}" unless value.is_a?(String) || value.is_a?(Bind)

          Bind.parse(value)
        end

        # Port 0 is another one each time.
        def check_after(others, bind, _what)
          raise ConfigError, "#{bind} is given twice" if bind.port != 0 && others.any? { |other| other.url == bind.url }
        end

        def to_s
          Bind::FORMS
        end
      end
    end
  end
end
