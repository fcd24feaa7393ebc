# frozen_string_literal: true

module NeverBlock
  module Bench
    # The order of the servers in each round. Each round starts with the next server, so that drift
    # of the machine (heat, neighbours) and the place in the round affect all servers alike.
    module Rotation
      # @param items [Array]
      # @param round [Integer] from 1
      # @return [Array] the items in the order of this round
      def self.order(items, round)
        items.rotate(round - 1)
      end
    end
  end
end
