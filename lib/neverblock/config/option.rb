# frozen_string_literal: true

# One row of the catalog of settings (config/catalog.rb): everything there is to say about one setting, for the command line, the environment, the
# configuration file, the native engine and the documents.

require "neverblock/config/type"

module NeverBlock
  class Config
    # name       [Symbol] in the file, within its group
    # group      [Symbol, nil] the block of the file it stands in
    # section    [String] heading in --help and the documents
    # type       [Type] what it takes
    # default    the value when nobody says otherwise
    # unit       [String, nil] such as "seconds"
    # help       [String] what it is for, one sentence without capital and full stop
    # flags      [Array<String>] of the command line
    # argument   [String, nil] what stands for the value in --help; nil: the flag alone means true
    # env        [Array<String>] variables, the first that is set counts
    # repeat     [Boolean] whether it may be given several times, and all count
    # in_file    [Boolean] whether the file may have it
    # engine     [Symbol, nil] the native engine's name for it
    # factor     [Integer] the engine's units in one of ours
    # later      [String, nil] what helps meanwhile, when this version does not do it yet
    # works      [Array] values that are true of this version all the same
    # elsewhere  [Array<Symbol>] what other servers' files call it
    Option = Struct.new(:name, :group, :section, :type, :default, :unit, :help, :flags, :argument, :env, :repeat, :in_file, :engine, :factor, :later, :works, :elsewhere,
                        keyword_init: true) do
      def initialize(flags: [], env: [], in_file: true, factor: 1, works: [], repeat: false, elsewhere: [], **others)
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

      # @return [String] its long flag, without a negation
      def flag
        flags.last&.sub("[no-]", "")
      end

      # @param value what was given
      # @param what [String] how it was given: a flag, a variable, a name in the file
      # @return the value to work with
      # @raise [ConfigError]
      # @raise [NotYetError]
      def read(value, what = to_s)
        raise NotYetError, "#{what} does not work yet; #{later}" if later && works.empty?

        found = type.read(value, what)
        return found if later.nil? || works.include?(found)

        raise NotYetError, "#{what}#{" #{found}" unless found == true} does not work yet; #{later}"
      end

      # @param others [Array, nil] what it was given before
      # @param value what it is given now, as read
      # @param what [String] how it was given
      # @return [Array] all of it
      # @raise [ConfigError] when it makes no sense after them
      def append(others, value, what = to_s)
        type.check_after(others.to_a, value, what)
        [*others, value]
      end

      # @return [Range, nil] what the native engine may be given, in its units
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
    end
  end
end
