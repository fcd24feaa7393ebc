# frozen_string_literal: true

# `self` in a configuration file, and in the block of a group there: an object with one method for
# each setting, made from the catalog.

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

        # @return [Array<Symbol>] the names of settings and groups
        def known(group)
          Catalog.in_file(group).map(&:name) + (group ? [] : Catalog.groups)
        end

        private

        def make(group)
          Class.new(self) do
            define_method(:unknown_word) { |name| @file.unknown(name, group) }
            Catalog.in_file(group).each do |row|
              define_method(row.name) do |*words, **keywords, &block|
                @file.take(row, words, keywords, block)
              end
            end
            next if group

            Catalog.groups.each do |name|
              define_method(name) do |*words, **keywords, &block|
                @file.open(name, words, keywords, block)
              end
            end
          end
        end
      end

      # @param file [UserFile] receives each setting
      def initialize(file)
        @file = file
      end

      # For an address in the file, such as bind "http://#{default_host}:3000": the host that
      # servers listen on where nobody names one. Under `rails server` that is Rails' own default.
      # @return [String] "localhost" under `rails server` in development, else "0.0.0.0"
      def default_host
        local = defined?(::Rails::Server) && ::Rails.env.development?
        local ? "localhost" : "0.0.0.0"
      end

      private

      # Every unknown word is an error, so the object responds to none.
      def method_missing(name, *)
        unknown_word(name)
      end

      def respond_to_missing?(*)
        false
      end
    end
  end
end
