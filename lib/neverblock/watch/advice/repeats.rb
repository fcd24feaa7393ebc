# frozen_string_literal: true

# Waits that came again and again at one line, in a loop whose turns need nothing of each other:
# queries for one row each, requests for one document each.

require "neverblock/watch/advice/order"
require "neverblock/watch/advice/place"
require "neverblock/watch/advice/step"

module NeverBlock
  module Watch
    module Advice
      class Repeats
        # Fewer are no pattern.
        LEAST = 5
        KINDS = %w[database http io dns process sleep offload file].freeze
        # Made into Ruby by a template engine, with the lines of the template.
        TEMPLATE = /\.(erb|haml|slim|jbuilder|rabl|arb|ruby)\z/

        # frame: the application's innermost. turn: the line of the loop, or nil. writes: it is for
        # what it changes.
        Found = Struct.new(:kind, :what, :frame, :loop_frame, :count, :saved_s, :waited_s, :writes) do
          def key
            [kind, frame.path, frame.line]
          end
        end

        # @param sources [Sources]
        def initialize(sources)
          @sources = sources
        end

        # @param request [Request]
        # @return [Array<Found>]
        def of(request)
          waits = request.waits.select { |wait| KINDS.include?(wait.kind) && wait.own_frames.any? }
          groups = waits.group_by { |wait| [wait.kind, wait.own_frames] }.values
          groups.select { |group| group.size >= LEAST }.filter_map { |group| look(group) }
        end

        private

        def look(waits)
          depth, node = innermost_loop(waits.first)
          return in_template(waits) if node.nil?
          return if node.is_a?(Prism::CallNode) && Words::STOPS_EARLY.include?(node.name)

          step, place = step_of(waits, depth, node)
          body = step && body_of(node)
          return unless body.is_a?(Prism::StatementsNode) && repeats?(step, place, node, body)

          found(waits, loop_frame: waits.first.own_frames[depth], writes: step.writes?)
        end

        def innermost_loop(wait)
          (wait.own_frames.size - 1).downto(0) do |depth|
            node = Place.find([wait], depth, @sources)&.loop_of(wait)
            return [depth, node] if node
          end
          nil
        end

        # The call in the loop's body that has waited.
        def step_of(waits, depth, node)
          depth += 1 if node.is_a?(Prism::CallNode)
          place = Place.find(waits, depth, @sources) or return
          calls = place.calls_of(waits.first)
          return if calls.size != 1

          step = Step.new(calls.first, place)
          step.waits.concat(waits)
          [step, place]
        end

        def body_of(node)
          node.is_a?(Prism::CallNode) ? node.block.body : node.statements
        end

        def repeats?(step, place, node, body)
          database = step.kinds == ["database"]
          return false if step.unclear? || (!database && (step.writes? || place.dropped?(step.node)))

          order = Order.new(place)
          folded = folded_name(node)
          return false if folded && Uses.of(step.node).reads.include?(folded)
          return false if order.carried?(step, body)

          node.is_a?(Prism::CallNode) || node.is_a?(Prism::ForNode) ||
            !order.decided_by?(step, body, node.predicate)
        end

        # What a fold hands on from turn to turn.
        def folded_name(node)
          return unless node.is_a?(Prism::CallNode) && %i[reduce inject].include?(node.name)

          names = node.block.parameters&.parameters&.requireds.to_a
          names.first.respond_to?(:name) ? names.first.name.to_s : nil
        end

        # A template is no Ruby. Its loops are taken to be like others.
        def in_template(waits)
          return unless waits.first.kind == "database"

          frames = waits.first.own_frames
          return unless frames.any? { |frame| TEMPLATE.match?(frame.path) }

          found(waits, loop_frame: nil, writes: false)
        end

        def found(waits, loop_frame:, writes:)
          seconds = waits.map(&:for_s)
          first = waits.first
          Found.new(first.kind, first.what, first.own_frames.last, loop_frame, waits.size,
                    seconds.sum - seconds.max, seconds.sum, writes)
        end
      end
    end
  end
end
