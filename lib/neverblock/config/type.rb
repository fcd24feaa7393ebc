# frozen_string_literal: true

# The types of values. A type converts text (command line, environment) or a Ruby value
# (configuration file) to the value the server works with. When it cannot, it tells in one line what
# is allowed.

require "neverblock/algorithms"
require "neverblock/config/paths"
require "neverblock/errors"

module NeverBlock
  class Config
    class Type
      # The result of #convert for a value of another type.
      MISMATCH = Object.new.freeze

      # @param value the value to convert
      # @param what [String] the setting's name in the error message
      # @return the converted value
      # @raise [ConfigError]
      def read(value, what)
        found = invalid_text?(value) ? MISMATCH : convert(value)
        return found unless found.equal?(MISMATCH)

        raise ConfigError, "#{what} must be #{self}; got #{shown(value)}"
      end

      # @param words [Array] positional arguments of the setting in the file
      # @param keywords [Hash{Symbol => Object}] its keyword arguments
      # @param block [Proc, nil] its block
      # @param what [String] its name
      # @return [Object] the one value for #read
      # @raise [ConfigError]
      def gather(words, keywords, block, what)
        raise ConfigError, "#{what} takes no block" if block

        join(words, keywords, what)
      end

      # @param others [Array] values given before for the same setting
      # @param value [Object] the new value
      # @param what [String] the setting's name
      # @return [void]
      # @raise [ConfigError] when the new value conflicts with those before
      def check_after(others, value, what); end

      # @!method convert(value)
      #   @return the converted value, or MISMATCH

      # @!method to_s
      #   @return [String] what is allowed, to follow "must be"

      private

      def invalid_text?(value)
        String === value && !value.valid_encoding?
      end

      # The value of a setting without a block.
      def join(words, keywords, what)
        return words.first if words.size == 1 && keywords.empty?

        raise ConfigError, "#{what} takes one value; got #{words.size + keywords.size}"
      end

      # Shortened: an object's own inspect may be pages long.
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

      # One of several names, as a symbol or as text.
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

        # For the native engine, which numbers them from 0.
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

      # The name of an algorithm that sends files: one of the core's, or of a gem that the file has
      # loaded before.
      class Algorithm < Choice
        def names
          Algorithms.names
        end

        # For the native engine, which numbers them from 1.
        def number(name)
          Algorithms.number(name)
        end

        def range
          1..ALGORITHMS_MAX
        end

        # The size of the table in core/send/algorithms.h.
        ALGORITHMS_MAX = 16
        private_constant :ALGORITHMS_MAX
      end

      # true or false.
      class Flag < Type
        WORDS = { "true" => true, "yes" => true, "1" => true,
                  "false" => false, "no" => false, "0" => false }.freeze

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

      # true, false, or one of some names.
      class Switch < Flag
        def initialize(*names)
          super()
          @names = names.freeze
        end

        def convert(value)
          found = super
          return found unless found.equal?(MISMATCH)

          @names.find { |name| name.to_s == value.to_s } || MISMATCH
        end

        def to_s
          [super, *@names.map { |name| ":#{name}" }].join(" or ")
        end

        # For the native engine: false, true, then the names.
        def range
          0..(@names.size + 1)
        end

        def number(name)
          @names.index(name) + 2
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

      # A value of any of several types.
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

        # No message shows what may be a secret.
        def shown(value)
          secret = @types.grep(Secret).first
          secret ? secret.shown(value) : super
        end

        # For the native engine, where nil is 0.
        def range
          found = @types.grep(Within).first.range
          @types.any?(Nothing) ? 0..found.end : found
        end
      end

      # Text that matches a pattern.
      class Text < Type
        def initialize(pattern, description)
          super()
          @pattern = pattern
          @description = description
        end

        def convert(value)
          text?(value) && value.match?(@pattern) ? value : MISMATCH
        end

        def text?(value)
          value.is_a?(String) && value.valid_encoding?
        end

        def to_s
          @description
        end
      end

      # A text that no message shows.
      class Secret < Text
        def shown(value)
          text?(value) ? "#{value.length} characters, which are not shown" : "a #{value.class}"
        end
      end

      # A path of a file or folder: a string, or a Pathname.
      class FilePath < Type
        def read(value, what)
          path = super
          Paths.expand(path)
          path
        rescue Errno::ENOENT # the current folder is gone
          path
        end

        def convert(value)
          value = value.to_path if value.respond_to?(:to_path)
          path?(value) ? value : MISMATCH
        end

        # Names of files are bytes.
        def invalid_text?(_value)
          false
        end

        def path?(value)
          value.is_a?(String) && !value.empty? && !value.include?("\0")
        end

        def to_s
          "a path"
        end
      end

      # Two values that go together.
      class Pair < Type
        # @param first [Type]
        # @param second [Type]
        # @param example [String] both, as written in the file
        def initialize(first, second, example)
          super()
          @types = [first, second].freeze
          @example = example
        end

        def read(value, what)
          pair = Array(value)
          refuse_count(pair.size, what) unless pair.size == 2

          @types.zip(pair, %w[first second]).map do |type, one, place|
            type.read(one, "#{what}: the #{place} value")
          end
        end

        # The first row of a key counts, so a second one would have no effect.
        def check_after(others, pair, what)
          return if others.none? { |other| other.first == pair.first }

          raise ConfigError, "#{what} #{pair.first.inspect} is given twice"
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
          raise ConfigError, "#{what} takes two values, such as #{what} #{@example}; got #{seen}"
        end
      end

      # A block of the file that the server calls later.
      class Block < Type
        # @param arguments [Array<Symbol>] names of the arguments it is called with
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

        # Lambdas, and methods given as blocks, check the number of their arguments.
        def callable?(block)
          return true unless block.lambda?

          required = block.arity.negative? ? ~block.arity : block.arity
          block.arity.negative? ? required <= @arguments.size : required == @arguments.size
        end
      end

      # An address to listen on. Bind.parse has more precise error messages.
      class Address < Type
        # @param plain [Boolean] whether https is left out
        def initialize(plain: false)
          super()
          @plain = plain
        end

        def read(value, what)
          unless value.is_a?(String) || value.is_a?(Bind)
            raise ConfigError, "#{what} must be #{self}; got #{shown(value)}"
          end

          @plain ? Bind.parse_plain(value) : Bind.parse(value)
        end

        # Port 0 may be given twice: each is another port.
        def check_after(others, bind, _what)
          return if bind.port&.zero? || others.none? { |other| other.url == bind.url }

          raise ConfigError, "#{bind} is given twice"
        end

        def to_s
          @plain ? Bind::PLAIN_FORMS : Bind::FORMS
        end
      end
    end
  end
end
