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

        # frame: the application's innermost. loop_frame: that of the loop, or nil. writes: it is
        # for what it changes.
        Found = Struct.new(:kind, :what, :frame, :loop_frame, :count, :saved_s, :waited_s,
                           :writes) do
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
          groups = request.waits_for(KINDS).group_by { |wait| [wait.kind, wait.own_frames] }.values
          groups.filter_map { |group| look(group, request.waits) if turns(group) >= LEAST }
        end

        private

        def look(waits, others)
          depth, node = innermost_loop(waits.first)
          return in_template(waits) if node.nil?
          return if stops_early?(node) || paused?(waits.first, depth, others)

          step, place = step_of(waits, depth, node)
          body = step && body_of(node)
          return unless body && repeats?(step, place, node, body)

          found(waits, loop_frame: waits.first.own_frames[depth], writes: step.writes?)
        end

        # The block of `lazy` is called as far as somebody asks for more.
        def stops_early?(node)
          return false unless node.is_a?(Prism::CallNode)
          return true if Words::STOPS_EARLY.include?(node.name)

          lazy?(node.receiver)
        end

        def lazy?(node)
          node.is_a?(Prism::CallNode) && (node.name == :lazy || lazy?(node.receiver))
        end

        # A loop that sleeps in each turn has a reason.
        def paused?(wait, depth, others)
          outside = wait.own_frames.take(depth + 1)
          wait.kind != "sleep" && others.any? do |other|
            other.kind == "sleep" && other.own_frames.take(depth + 1) == outside
          end
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

        # An answer may come in several pieces. The waits for its first are as many as there are
        # turns.
        def turns(waits)
          waits.count { |wait| wait.frames == waits.first.frames }
        end

        def body_of(node)
          body = node.is_a?(Prism::CallNode) ? node.block.body : node.statements
          body = body.statements if body.is_a?(Prism::BeginNode)
          body if body.is_a?(Prism::StatementsNode)
        end

        def repeats?(step, place, node, body)
          database = step.kinds == ["database"]
          return false if step.unclear?
          return false if !database && (step.writes? || place.dropped?(step.node))

          predicate = node.respond_to?(:predicate) ? node.predicate : nil
          !Order.new(place).carried?(step, body, predicate: predicate, folded: folded_name(node),
                                                 fresh: fresh?(step, node))
        end

        # Does each turn ask an object of its own: the block's, or a new one?
        def fresh?(step, node)
          return false unless node.is_a?(Prism::CallNode) && step.node.is_a?(Prism::CallNode)

          receiver = step.node.receiver
          return true if receiver.is_a?(Prism::CallNode) && receiver.name == :new

          !step.root.nil? && Uses.parameters(node.block).include?(step.root)
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
