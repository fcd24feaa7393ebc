# frozen_string_literal: true

# Controllers name the actions whose waits block the thread, as in NeverBlock of 2008:
#
#   class ReportsController < ApplicationController
#     allowblock :export, :figures
#   end
#
# Without names it means every action. A subclass may take it back by `neverblock :figures`.
# Requests whose route leads to such an action run on a thread of their own (LaneRoutes). Other
# requests run it in place, inside NB.neverblock(false): the fibers of its thread wait while it
# waits. Rails' log says so, once for each action.

require "neverblock/verbs/blocking_mode"
require "neverblock/rails/lane_routes"

module NeverBlock
  module ActionModes
    # The key that stands for every action.
    EVERY = :every

    def self.included(controller)
      controller.class_attribute :neverblock_actions,
                                 instance_accessor: false, instance_predicate: false,
                                 default: {}.freeze
      controller.extend(Words)
      controller.prepend(Around)
    end

    # Class methods of controllers.
    module Words
      # @param actions [Array<Symbol, String>] none: every action
      # @return [void]
      def allowblock(*actions)
        neverblock_set(actions, true)
      end

      # Takes back an allowblock, of this class or of a superclass.
      # @param actions [Array<Symbol, String>] none: every action
      # @return [void]
      def neverblock(*actions)
        neverblock_set(actions, false)
      end

      # @param action [String]
      # @return [Boolean] whether the action's waits block the thread
      def neverblock_holds?(action)
        neverblock_actions.fetch(action.to_sym) { neverblock_actions.fetch(EVERY, false) }
      end

      private

      def neverblock_set(actions, held)
        wrong = actions.find { |action| !action.is_a?(Symbol) && !action.is_a?(String) }
        raise ArgumentError, "an action is a name, such as :export; seen #{wrong.inspect}" if wrong

        # For every action, earlier names do not count.
        earlier = actions.empty? ? {} : neverblock_actions
        names = actions.empty? ? [EVERY] : actions.map(&:to_sym)
        self.neverblock_actions = earlier.merge(names.to_h { |name| [name, held] }).freeze
        LaneRoutes.changed
      end
    end

    # Prepended to controllers, so that it encloses their filters too.
    module Around
      # @return [void]
      def process_action(*)
        return super unless self.class.neverblock_holds?(action_name) && Fiber.current_scheduler

        ActionModes.tell_once("#{self.class.name}##{action_name}", logger)
        NeverBlock.neverblock(false) { super }
      end
    end

    # @return [Hash{String => Class}] the loaded controllers, by path
    def self.controllers
      loaded = AbstractController::Base.descendants.select do |one|
        one.respond_to?(:neverblock_actions) && one.name
      end
      loaded.to_h { |one| [one.controller_path, one] }
    end

    @told = {}

    # @param action [String]
    # @param logger [Logger, nil]
    # @return [void]
    def self.tell_once(action, logger)
      return if @told[action]

      @told[action] = true
      logger&.warn("NeverBlock: allowblock: while #{action} waits, its thread runs no other " \
                   "request; spare threads do, also this action")
    end
  end
end
