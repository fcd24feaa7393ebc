# frozen_string_literal: true

# Which of the steps of one method must come before another: because that uses what it gave, or may
# change, or because nobody can tell. Follows what the text of the method says, statement by
# statement; what it cannot follow counts as used.

require "neverblock/watch/advice/uses"
require "neverblock/watch/advice/words"

module NeverBlock
  module Watch
    module Advice
      class Order
        # Their parts are all evaluated, whatever the others gave.
        WHOLES = [
          Prism::ArrayNode, Prism::HashNode, Prism::KeywordHashNode, Prism::AssocNode,
          Prism::ArgumentsNode, Prism::InterpolatedStringNode, Prism::InterpolatedSymbolNode,
          Prism::SuperNode, Prism::YieldNode, Prism::RangeNode, Prism::SplatNode
        ].freeze
        CONDITIONALS = [Prism::IfNode, Prism::UnlessNode, Prism::CaseNode, Prism::CaseMatchNode,
                        Prism::WhileNode, Prism::UntilNode].freeze

        # @param place [Place]
        def initialize(place)
          @place = place
          @code = place.code
          @uses = {}.compare_by_identity
        end

        # @param step [Step] in the body of a loop
        # @param body [Prism::StatementsNode]
        # @return [Boolean] whether a turn needs what the one before it gave
        def carried?(step, body)
          return true if step.state_writes.intersect?(step.state_reads)

          at = body.body.index { |node| holds?(node, step.node) } or return true
          own = body.body[at]
          used = given(step, own)
          return true if used.include?("::") || uses(own).leaves?
          return true if body.body.drop(at + 1).any? { |node| ends_loop?(node, used) }

          needs?(step, used) || body.body.take(at).any? { |node| ends_loop?(node, used) } ||
            takes?(step, own, used)
        end

        # @param step [Step] in the body of a loop
        # @param body [Prism::StatementsNode]
        # @param predicate [Prism::Node] of the loop
        # @return [Boolean] whether what a turn gave decides that there is another
        def decided_by?(step, body, predicate)
          return true if holds?(predicate, step.node)

          used = given(step, body)
          touches?(predicate, used)
        end

        # @param first [Step]
        # @param second [Step] a later one
        # @return [Boolean] whether the second must wait for the first
        def fixed?(first, second)
          return true if holds?(first.node, second.node) || holds?(second.node, first.node)

          whole, before, after = parting(first.node, second.node)
          return true if whole.nil?
          return true if first.state_writes.intersect?(second.state_reads)

          used = given(first, before)
          return true if used.include?("::")
          return true if needs?(second, used)
          return follows?(whole, before, after, used, second) if whole.is_a?(Prism::StatementsNode)

          !together?(whole) || takes?(second, after, used)
        end

        private

        def uses(node)
          @uses[node] ||= Uses.of(node)
        end

        def holds?(outer, inner)
          outer.equal?(inner) || @code.ancestors(inner).any? { |node| node.equal?(outer) }
        end

        # @return [Array(Prism::Node, Prism::Node, Prism::Node), nil] the innermost node that holds
        #   both, and its parts that hold one each
        def parting(first, second)
          firsts = [first, *@code.ancestors(first)]
          seconds = [second, *@code.ancestors(second)]
          at = firsts.index { |node| seconds.any? { |other| other.equal?(node) } }
          return if at.nil? || at.zero?

          after = seconds[seconds.index { |node| node.equal?(firsts[at]) } - 1]
          [firsts[at], firsts[at - 1], after]
        end

        # Names that hold what the first gave, or may.
        def given(first, before)
          uses(before).writes | first.state_writes | first.changed_arguments
        end

        def needs?(second, used)
          second.state_reads.intersect?(used)
        end

        def together?(whole)
          return !whole.safe_navigation? if whole.is_a?(Prism::CallNode)

          WHOLES.include?(whole.class)
        end

        # Goes through the statements between the two, up to the second's call.
        def follows?(statements, before, after, used, second)
          return true if leaves?(before)

          from = statements.body.index { |node| node.equal?(before) }
          to = statements.body.index { |node| node.equal?(after) }
          between = statements.body[(from + 1)...to]
          return true if between.any? { |node| passes(node, used) == :fixed }

          takes?(second, after, used)
        end

        # In a loop, what a turn does for its effect delays no other.
        def ends_loop?(node, used)
          piece = uses(node)
          return false unless touches?(node, used)
          return true if piece.leaves? || piece.blind?

          used.merge(piece.writes)
          used.merge(@place.sources.state(piece.reads).writes)
          false
        end

        # A statement that may end the method by what the first gave.
        def leaves?(node)
          uses(node).leaves? || uses(node).skips?
        end

        # @return [Symbol, nil] :fixed where what follows depends on it
        def passes(node, used)
          piece = uses(node)
          return unless touches?(node, used)
          return :fixed if leaves?(node) || piece.blind? || acts?(node, used)

          used.merge(piece.writes)
          used.merge(@place.sources.state(piece.reads).writes)
          nil
        end

        # Does the statement use what the first gave?
        def touches?(node, used)
          expanded(uses(node)).intersect?(used)
        end

        # What a lambda reads that a variable holds counts where the variable is read.
        def expanded(piece)
          found = piece.reads
          @place.assignments.each do |write|
            next unless found.include?(write.name.to_s) && lambda?(write.value)

            found |= uses(write.value).reads
          end
          found
        end

        def lambda?(node)
          return true if node.is_a?(Prism::LambdaNode)

          node.is_a?(Prism::CallNode) && %i[lambda proc new method].include?(node.name) &&
            (node.block || node.name == :method)
        end

        # Is there a call for what it does, as a check of what the first gave?
        def acts?(node, used)
          return true if act?(node) && touches?(node, used)

          node.compact_child_nodes.any? { |child| acts?(child, used) }
        end

        def act?(node)
          return false unless node.is_a?(Prism::CallNode) && @place.dropped?(node)
          return false if node.attribute_write? || Words::MUTATORS.include?(node.name)

          !Words::HARMLESS.include?(node.name) && !iterates?(node)
        end

        def iterates?(node)
          node.block.is_a?(Prism::BlockNode) && Words::DROPS_VALUE.include?(node.name)
        end

        # Does the second's call, inside its statement, use what the first gave?
        def takes?(second, statement, used)
          return true if expanded(uses(second.node)).intersect?(used)

          child = second.node
          @code.ancestors(child).each do |parent|
            return true if decides?(parent, child, used)
            break if child.equal?(statement)

            return true if parent.is_a?(Prism::StatementsNode) && earlier?(parent, child, used)

            child = parent
          end
          false
        end

        def decides?(parent, child, used)
          case parent
          when *CONDITIONALS
            !parent.predicate.equal?(child) && parent.predicate && touches?(parent.predicate, used)
          when Prism::AndNode, Prism::OrNode
            parent.right.equal?(child) && touches?(parent.left, used)
          when Prism::WhenNode, Prism::InNode
            touches?(parent, used)
          when Prism::RescueNode then true
          else false
          end
        end

        def earlier?(statements, child, used)
          to = statements.body.index { |node| node.equal?(child) }
          statements.body[0...to].any? { |node| passes(node, used) == :fixed }
        end
      end
    end
  end
end
