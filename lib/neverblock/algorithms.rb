# frozen_string_literal: true

# The ways to send files, by name: those of the core, and those that gems add (ext/neverblock/include/neverblock.h; examples/sender_gem is one). A
# configuration is read without the native part, which is loaded when a gem adds one.

require "neverblock/errors"

module NeverBlock
  module Algorithms
    # Numbered as the native part has them, from 1.
    CORE = %i[auto eba enba sba].freeze

    @added = []

    class << self
      # @return [Array<Symbol>]
      def names
        CORE + @added
      end

      # @param name [Symbol]
      # @return [Integer] what the native engine calls it
      def number(name)
        names.index(name) + 1
      end

      # @param address [Integer] of an nb_algorithm, which stays there until the process ends
      # @return [Symbol] its name, which `sendfile { algorithm }` and routes take from here on
      # @raise [ArgumentError] when it is none, was built for another version of the header, or its name is taken
      # @raise [Error] when there are too many
      def add(address)
        require "neverblock/boot/native"
        @added << Engine.add_algorithm(address).to_sym
        @added.last
      end
    end
  end

  # Adds a way to send files, from another gem: in the configuration file, before it is named there.
  # @param address [Integer] of the nb_algorithm
  # @return [Symbol] its name
  # @raise [ArgumentError, Error] as Algorithms.add
  def self.add_algorithm(address)
    Algorithms.add(address)
  end
end
