# frozen_string_literal: true

require "neverblock/init/translation"

module NeverBlock
  module Init
    # Variables that only settings have read for which nothing is to be written: they are left out,
    # as a reader would ask what they are for.
    module Unused
      # What a value may call. Other code may do more than give a value.
      HARMLESS = %i[Integer Float String Array].freeze
      # What it may name.
      CONSTANTS = %i[ENV Etc Concurrent Integer Float].freeze

      class << self
        # @param entries [Array<Entry>] of a whole file
        # @return [Array<Entry>] the same, with such variables marked as needless
        def left_out(entries)
          while (entry = entries.find { |one| droppable?(one) && unused?(one, entries) })
            names = readers(entry, entries).map { |one| name_of(one.statement) }.uniq
            entry.translation = Translation.needless("#{entry.statement.sets} is for " \
                                                     "#{names.join(", ")} alone")
          end
          entries
        end

        private

        # One in an `if` may leave nothing in it.
        def droppable?(entry)
          statement = entry.statement
          carried?(entry) && entry.indent.zero? && statement&.sets &&
            (statement.words - HARMLESS).empty? && (statement.constants - CONSTANTS).empty?
        end

        # One that nothing reads at all is its author's. What has no counterpart is written by hand,
        # perhaps with the variable.
        def unused?(entry, entries)
          found = readers(entry, entries)
          found.any? && found.all? { |one| one.translation.kind == :needless }
        end

        def readers(entry, entries)
          entries.select do |one|
            !one.equal?(entry) &&
              one.statement&.variables.to_a.map(&:to_s).include?(entry.statement.sets)
          end
        end

        def carried?(entry) = entry.translation.kind == :carried

        def name_of(statement) = statement.word || statement.sets || "other code"
      end
    end
  end
end
