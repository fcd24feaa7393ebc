# frozen_string_literal: true

# Controllers say which of their actions must not let others run while they wait, as with NeverBlock of 2008:
#
#   class ReportsController < ApplicationController
#     allowblock :export, :figures    # these hold their thread
#   end
#
# Without names: every action. A subclass that knows better says `neverblock :figures`. Requests that routes lead to such an action run on a thread of their own
# (LaneRoutes), where nothing is to be done. Those that come another way are held in place: NB.neverblock(false) around each, which keeps all requests of its process
# waiting while it waits; a line of Rails' log says so once for each.

require "neverblock/verbs/blocking_mode"
require "neverblock/rails/lane_routes"

module NeverBlock
  module ActionModes
    EVERY = :every

    def self.included(controller)
      controller.class_attribute :neverblock_actions, instance_accessor: false, instance_predicate: false, default: {}.freeze
      controller.extend(Words)
      controller.prepend(Around)
    end

    # For the class.
    module Words
      # @param actions [Array<Symbol, String>] none: all
      # @return [void]
      def allowblock(*actions)
        neverblock_set(actions, true)
      end

      # Takes back what allowblock said, here or in a class above.
      # @param actions [Array<Symbol, String>] none: all
      # @return [void]
      def neverblock(*actions)
        neverblock_set(actions, false)
      end

      # @param action [String]
      # @return [Boolean]
      def neverblock_holds?(action)
        neverblock_actions.fetch(action.to_sym) { neverblock_actions.fetch(EVERY, false) }
      end

      private

      def neverblock_set(actions, held)
        wrong = actions.find { |action| !action.is_a?(Symbol) && !action.is_a?(String) }
        raise ArgumentError, "an action is a name, such as :export; seen #{wrong.inspect}" if wrong

        kept = actions.empty? ? {} : neverblock_actions # all: what was said of some no longer counts
        self.neverblock_actions = kept.merge((actions.empty? ? [EVERY] : actions.map(&:to_sym)).to_h { |name| [name, held] }).freeze
        LaneRoutes.changed
      end
    end

    # For the instances; before the controller's own, so that its filters are held too.
    module Around
      # @return [void]
      def process_action(*)
        return super unless self.class.neverblock_holds?(action_name) && Fiber.current_scheduler

        ActionModes.tell_once("#{self.class.name}##{action_name}", logger)
        NeverBlock.neverblock(false) { super }
      end
    end

    # @return [Hash{String => Class}] by path, those that are loaded
    def self.controllers
      AbstractController::Base.descendants.select { |one| one.respond_to?(:neverblock_actions) && one.name }.to_h { |one| [one.controller_path, one] }
    end

    @told = {}

    # @param action [String]
    # @param logger [Logger, nil]
    # @return [void]
    def self.tell_once(action, logger)
      return if @told[action]

      @told[action] = true
      logger&.warn("NeverBlock: allowblock: while #{action} waits, no other request of this process runs")
    end
  end
end
