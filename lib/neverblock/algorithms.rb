# frozen_string_literal: true

# The algorithms that send files, by name: those of the core, and those that gems add
# (ext/neverblock/include/neverblock.h; examples/sender_gem adds one). A configuration is read
# without the native part, which is loaded when a gem adds an algorithm.

require "neverblock/errors"

module NeverBlock
  module Algorithms
    # In the order of the native part's numbers, which begin at 1.
    CORE = %i[auto eba enba sba].freeze

    @added = []

    class << self
      # @return [Array<Symbol>] of all algorithms
      def names
        CORE + @added
      end

      # @param name [Symbol]
      # @return [Integer] the native part's number of it
      def number(name)
        names.index(name) + 1
      end

      # @param address [Integer] of an nb_algorithm, which must exist until the process ends
      # @return [Symbol] its name, which `sendfile { algorithm }` and routes accept from now on
      # @raise [ArgumentError] when it is none, was built for another version of the header, or its
      #   name is taken
      # @raise [Error] when there are too many
      def add(address)
        require "neverblock/boot/native"
        @added << Engine.add_algorithm(address).to_sym
        @added.last
      end
    end
  end

  # Adds an algorithm that sends files, from another gem. Called in the configuration file, before
  # it is named there.
  # @param address [Integer] of the nb_algorithm
  # @return [Symbol] its name
  # @raise [ArgumentError, Error] as Algorithms.add
  def self.add_algorithm(address)
    Algorithms.add(address)
  end
end
