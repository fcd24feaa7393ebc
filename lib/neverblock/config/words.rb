# frozen_string_literal: true

# What `self` is in a configuration file, and in the block of a group there: an object with one method for each setting, made from the catalog.

require "neverblock/config/catalog"
require "neverblock/config/suggestion"

module NeverBlock
  class Config
    class Words
      class << self
        # @param group [Symbol, nil] nil: outside of any group
        # @return [Class] of Words
        def for(group)
          @classes ||= {}
          @classes[group] ||= make(group)
        end

        # @return [Array<Symbol>] the words there are
        def known(group)
          Catalog.in_file(group).map(&:name) + (group ? [] : Catalog.groups)
        end

        private

        def make(group)
          Class.new(self) do
            define_method(:unknown_word) { |name| @file.unknown(name, group) }
            Catalog.in_file(group).each do |row|
              define_method(row.name) { |*words, **keywords, &block| @file.take(row, words, keywords, block) }
            end
            next if group

            Catalog.groups.each do |name|
              define_method(name) { |*words, **keywords, &block| @file.open(name, words, keywords, block) }
            end
          end
        end
      end

      # @param file [UserFile] who is told
      def initialize(file)
        @file = file
      end

      private

      # Every unknown word is a complaint, so there is none to respond to.
      def method_missing(name, *)
        unknown_word(name)
      end

      def respond_to_missing?(*)
        false
      end
    end
  end
end
