# frozen_string_literal: true

# Who has the places of a pool. Called with the pool's lock held.

require "neverblock/pool/holder"

module NeverBlock
  module Pool
    class Holders
      # Seconds between two searches for holders whose fiber is lost, which gives no sign. Waiters
      # search.
      SEARCH_SECONDS = 1

      def initialize
        @all = {}.compare_by_identity
        @fibers = ObjectSpace::WeakMap.new # holder to fiber, see #take_lost
      end

      # @return [Integer]
      def size = @all.size

      # @return [Array<Holder>]
      def to_a = @all.keys

      # @return [Boolean]
      def include?(holder) = @all.key?(holder)

      # @param holder [Holder]
      # @return [void]
      def add(holder)
        @all[holder] = true
      end

      # @return [Boolean] whether it was there
      def delete(holder)
        !@all.delete(holder).nil?
      end

      # @return [Boolean] whether the caller, if it waited, would wait for ever: it cannot park, and
      #   would block the thread whose fibers have all the places
      def hopeless?
        return false unless Fiber.scheduler && !Fiber.current_scheduler

        @all.each_key.all? { |holder| holder.thread.equal?(Thread.current) }
      end

      # Takes the places of holders whose fiber has ended, or can never go on.
      # @param weaken [Boolean] whether the wait has been long. There are only weak references to
      #   the fibers then, so that those that nobody can resume are collected.
      # @return [Array<Holder>] those that have lost their place
      def take_lost(weaken:)
        to_a.each do |holder|
          next unless weaken && holder.fiber

          @fibers[holder] = holder.fiber
          holder.fiber = nil
        end
        lost = @all.each_key.reject { |holder| alive?(holder) }
        lost.each { |holder| @all.delete(holder) }
      end

      private

      def alive?(holder)
        fiber = holder.fiber || @fibers[holder]
        holder.thread.alive? && !fiber.nil? && fiber.alive?
      end
    end
  end
end
