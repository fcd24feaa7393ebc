# frozen_string_literal: true

# The workers there are and the number there should be: which to start, which to retire, whom a new one succeeds. It decides, and does nothing.
#
# A worker's states: starting -> ready (it waits for the others of a reload) -> serving -> retiring; `leaving` says that a serving one is to retire once its
# successor serves. Each has a number, 0 up to the target; two of a number are there while one succeeds the other.

module NeverBlock
  module Cluster
    class Roster
      RANGE = (1..128)

      # @return [Integer] how many are to serve
      attr_reader :target
      # @return [Array] every worker whose process has not ended
      attr_reader :all

      # @param target [Integer]
      def initialize(target)
        @target = target
        @all = []
      end

      # @param count [Integer] is brought into RANGE
      def target=(count)
        @target = count.clamp(RANGE)
      end

      # @param aside [Object, nil] the mold of a reload, whose workers do not count yet
      # @return [Array<Integer>] numbers that nobody has and somebody should
      def missing(aside = nil)
        here = all.reject { |worker| (aside && worker.mold.equal?(aside)) || worker.leaving || worker.state == :retiring }
        (0...target).to_a - here.map(&:number)
      end

      # @return [Array] those who serve and have a number past the target
      def surplus
        serving.select { |worker| worker.number >= target }
      end

      # @return [Array]
      def serving
        all.select { |worker| worker.state == :serving }
      end

      # @param worker one that begins to serve
      # @return [Array] whom it succeeds
      def succeeded_by(worker)
        serving.select { |other| other.leaving && other.number == worker.number && !other.equal?(worker) }
      end

      # @param mold [Object]
      # @return [Array] its workers
      def of(mold)
        all.select { |worker| worker.mold.equal?(mold) }
      end
    end
  end
end
