# frozen_string_literal: true

# The set of workers, and the number there should be. It decides which workers to start, to drain
# and to replace, and does nothing itself.
#
# States of a worker: starting -> ready (waits for the others of a reload, or for a place) ->
# serving -> retiring (draining: no further requests). `leaving` marks a serving worker that drains
# once its successor serves. Numbers are 0 up to the target; during a replacement two workers have
# the same number.

module NeverBlock
  module Cluster
    class Roster
      RANGE = (1..128)

      # @return [Integer] how many should serve
      attr_reader :target
      # @return [Array] every worker whose process has not ended
      attr_reader :all

      # @return [Range] how many are possible
      attr_reader :range

      # @param target [Integer]
      # @param most [Integer] how many there are places for
      def initialize(target, most: RANGE.max)
        @target = target
        @range = (RANGE.min..[most.clamp(RANGE), target].max)
        @all = []
      end

      # @param count [Integer] clamped to the range
      def target=(count)
        @target = count.clamp(range)
      end

      # @param aside [Object, nil] the mold of a reload, whose workers do not count yet
      # @return [Array<Integer>] numbers that need a worker
      def missing(aside = nil)
        here = all.reject do |worker|
          (aside && worker.mold.equal?(aside)) || worker.leaving || worker.state == :retiring
        end
        (0...target).to_a - here.map(&:number)
      end

      # @return [Array] serving workers whose number is not below the target
      def surplus
        serving.select { |worker| worker.number >= target }
      end

      # @return [Array]
      def serving
        all.select { |worker| worker.state == :serving }
      end

      # @param aside [Object, nil] the mold of a reload, whose workers wait for each other
      # @return [Array] workers that are ready and wait for a place
      def waiting(aside = nil)
        all.select do |worker|
          worker.waiting? && !(aside && worker.mold.equal?(aside))
        end
      end

      # @param worker a worker that starts to serve
      # @return [Array] the workers it replaces
      def succeeded_by(worker)
        serving.select do |other|
          other.leaving && other.number == worker.number && !other.equal?(worker)
        end
      end

      # @param mold [Object]
      # @return [Array] its workers
      def of(mold)
        all.select { |worker| worker.mold.equal?(mold) }
      end
    end
  end
end
