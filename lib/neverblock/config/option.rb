# frozen_string_literal: true

# One row of the catalog of settings (config/catalog.rb): all facts about one setting, for the
# command line, the environment, the configuration file, the native engine and the documents.

require "neverblock/config/type"

module NeverBlock
  class Config
    # name       [Symbol] in the file, within its group
    # group      [Symbol, nil] the block of the file that holds it
    # section    [String] heading in --help and the documents
    # type       [Type] the type of its value
    # default    the value when it is not set
    # unit       [String, nil] such as "seconds"
    # help       [String] one sentence about its purpose, without capital and full stop
    # flags      [Array<String>] options of the command line
    # argument   [String, nil] placeholder of the value in --help; nil: the flag alone means true
    # env        [Array<String>] environment variables; the first that is set counts
    # repeat     [Boolean] whether it may be given several times, and all values count
    # in_file    [Boolean] whether the file may have it
    # engine     [Symbol, nil] its name in the native engine
    # factor     [Integer] the engine's units in one of ours
    # later      [String, nil] what to use instead, when this version does not support it yet
    # works      [Array] values that this version supports all the same
    # elsewhere  [Array<Symbol>] its names in other servers' files
    OPTION_FIELDS = %i[
      name group section type default unit help flags argument env repeat in_file engine factor
      later works elsewhere
    ].freeze
    # A size with a unit, which no setting takes.
    SIZE = /\A(\d{1,6}) ?([kmg])i?b?\z/i.freeze
    POWERS = { "k" => 1, "m" => 2, "g" => 3 }.freeze
    private_constant :OPTION_FIELDS, :SIZE, :POWERS

    Option = Struct.new(*OPTION_FIELDS, keyword_init: true) do
      def initialize(flags: [], env: [], in_file: true, factor: 1, works: [], repeat: false,
                     elsewhere: [], **others)
        super
        freeze
      end

      # @return [Symbol] unique among all
      def key
        group ? :"#{group}.#{name}" : name
      end

      # @return [String] as it is written in the file
      def to_s
        group ? "#{group} #{name}" : name.to_s
      end

      # @return [String] as it is written in the file, with its group's block
      def in_place
        group ? "#{group} { #{name} }" : name.to_s
      end

      # @return [String] its long flag, without the "[no-]"
      def flag
        flags.last&.sub("[no-]", "")
      end

      # @param value the value to read
      # @param what [String] its source in an error message: a flag, a variable, a name in the file
      # @return the converted value
      # @raise [ConfigError]
      # @raise [NotYetError]
      def read(value, what = to_s)
        raise NotYetError, "#{what} is not supported yet; #{later}" if later && works.empty?

        found = read_typed(value, what)
        return found if later.nil? || works.include?(found)

        shown = " #{found}" unless found == true
        raise NotYetError, "#{what}#{shown} is not supported yet; #{later}"
      end

      # @param others [Array, nil] the values given before
      # @param value the new value, as read
      # @param what [String] its source in an error message
      # @return [Array] all values
      # @raise [ConfigError] when the new value conflicts with those before
      def append(others, value, what = to_s)
        type.check_after(others.to_a, value, what)
        [*others, value]
      end

      # @return [Range, nil] the range in the native engine's units
      def engine_range
        range = type.range
        (range.begin * factor).round..(range.end * factor).round
      end

      # @return [Integer] a value in the native engine's units
      def to_engine(value)
        return value ? 1 : 0 if [true, false, nil].include?(value)
        return type.number(value) if value.is_a?(Symbol)

        (value * factor).round
      end

      private

      # A size with a unit is no number: the message has it in bytes.
      def read_typed(value, what)
        type.read(value, what)
      rescue ConfigError => e
        size = SIZE.match(value) if unit == "bytes" && value.is_a?(String)
        raise unless size

        bytes = size[1].to_i * (1024**POWERS.fetch(size[2].downcase))
        digits = bytes.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, "_")
        raise e.class, "#{e.message}; it is in bytes: #{digits}"
      end
    end
  end
end
