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
        OR_WRITES = [
          Prism::LocalVariableOrWriteNode, Prism::InstanceVariableOrWriteNode,
          Prism::ClassVariableOrWriteNode, Prism::GlobalVariableOrWriteNode
        ].freeze
        CONDITIONALS = [Prism::IfNode, Prism::UnlessNode, Prism::CaseNode, Prism::CaseMatchNode,
                        Prism::WhileNode, Prism::UntilNode].freeze
        # What comes after depends on a condition.
        DECIDED = "decided"

        # @param place [Place]
        def initialize(place)
          @place = place
          @code = place.code
          @uses = {}.compare_by_identity
          @states = {}.compare_by_identity
          @reads = {}.compare_by_identity
        end

        # @param first [Step]
        # @param second [Step] a later one
        # @return [Boolean] whether the second must wait for the first
        def fixed?(first, second)
          return true if holds?(first.node, second.node) || holds?(second.node, first.node)

          whole, before, after = parting(first.node, second.node)
          return true if whole.nil? || conflict?(first, second)

          used = given(first, before)
          return true if used.include?("::") || needs?(first, second, used)
          return follows?(whole, before, after, used, first, second) if whole.is_a?(Prism::StatementsNode)

          !together?(whole) || takes?(second, after, used)
        end

        # @param step [Step] in the body of a loop
        # @param body [Prism::StatementsNode]
        # @param predicate [Prism::Node, nil] what decides whether there is another turn
        # @param folded [String, nil] the variable that a fold hands on
        # @param fresh [Boolean] whether each turn asks an object of its own
        # @return [Boolean] whether a turn needs what the one before it gave
        def carried?(step, body, predicate: nil, folded: nil, fresh: false)
          writes = fresh ? step.shared_writes : step.state_writes
          return true if writes.intersect?(step.state_reads)

          at = body.body.index { |node| holds?(node, step.node) } or return true
          own = body.body[at]
          used = given(step, own)
          used -= step.own_writes | step.changed_arguments if fresh
          used << folded if folded
          return true if used.include?("::") || uses(own).leaves?

          used << DECIDED if uses(own).skips?
          return true if body.body.drop(at + 1).any? { |node| ends_loop?(node, used) }
          return true if predicate && (holds?(predicate, step.node) || touches?(predicate, used))
          return true if step.state_reads.intersect?(used)

          body.body.take(at).any? { |node| ends_loop?(node, used) } || takes?(step, own, used)
        end

        private

        def uses(node)
          @uses[node] ||= Uses.of(node)
        end

        def holds?(outer, inner)
          @code.holds?(outer, inner)
        end

        # @return [Array(Prism::Node, Prism::Node, Prism::Node), nil] the innermost node that holds
        #   both, and its parts that hold one each
        def parting(first, second)
          firsts = [first, *@code.ancestors(first)]
          seconds = [second, *@code.ancestors(second)]
          whole = (firsts & seconds).first
          return if whole.nil? || whole.equal?(first)

          [whole, firsts[firsts.index(whole) - 1], seconds[seconds.index(whole) - 1]]
        end

        # What the methods read and write that it calls.
        def state(node)
          @states[node] ||= @place.sources.state(uses(node).reads)
        end

        # --- what methods keep ---

        # Do they use what both have, and one changes?
        def conflict?(first, second)
          return true if clash?(first, second, &:shared_writes)

          !apart?(first,
                  second) && (clash?(first, second, &:own_writes) || clash?(first, second, &:sums))
        end

        def clash?(first, second, &writes)
          ones = writes.call(first)
          others = writes.call(second)
          ones.intersect?(second.state_reads) || others.intersect?(first.state_reads) ||
            (ones.intersect?(others) && ones != first.sums)
        end

        # Are they methods of two objects that this method has made?
        def apart?(first, second)
          roots = [first.root, second.root]
          return false if roots.any?(&:nil?) || roots.uniq.size < 2

          roots.all? do |root|
            @place.assignments.any? { |write| write.name.to_s == root && made?(write.value) }
          end
        end

        def made?(value)
          value.is_a?(Prism::CallNode) && value.name == :new
        end

        def needs?(first, second, used)
          used -= first.own_writes if apart?(first, second)
          second.state_reads.intersect?(used)
        end

        # --- what a statement gives ---

        # Names that hold what the first gave, or may.
        def given(first, before)
          piece = uses(before)
          rest = @place.sources.state(piece.reads - first.uses.reads)
          names = [piece.writes, piece.fills, first.state_writes, rest.writes, rest.sums].reduce(:|)
          changed = piece.changed | first.changed_arguments | takers(first.node, before)
          spread(names | changed, changed) | kept_blocks(before)
        end

        # Variables whose objects are given what the first gave, and may keep it.
        def takers(node, before)
          found = Set.new
          until node.equal?(before)
            parent = @code.parent(node) or break
            found << Uses.root(parent.receiver) if takes_in?(parent, node)
            node = parent
          end
          found - [nil, "self", "::"]
        end

        def takes_in?(call, part)
          return false unless call.is_a?(Prism::CallNode) && call.arguments.equal?(part)

          call.name.match?(/\A[a-z_]\w*\z/i) && !Words.read?(call.name)
        end

        # An object has several names: `copy = list`, `first = list.first`.
        def spread(names, changed)
          return names if changed.empty?

          found = changed
          loop do
            more = pairs.select { |pair| pair.intersect?(found) }.reduce(found, :|)
            return names | found if more.size == found.size

            found = more
          end
        end

        def pairs
          @pairs ||= @place.settings.filter_map do |write|
            others = aliases_of(write.value) - ["self", "::", nil]
            Set[write.name.to_s, *others] if others.any?
          end
        end

        # What holds something is another name of it.
        def aliases_of(value)
          case value
          when *Place::SETS then [value.name.to_s]
          when Prism::ArrayNode, Prism::HashNode then variables(value)
          else made?(value) ? variables(value) : [Uses.root(value)]
          end
        end

        def variables(node)
          uses(node).reads.reject { |name| name.include?("#") }
        end

        # What blocks and lambdas write that were made before: whoever is given something may call
        # them.
        def kept_blocks(statement)
          starts = statement.location.start_offset
          blocks = @place.kept_blocks.select { |block| block.location.end_offset <= starts }
          blocks.map { |block| uses(block).writes }.reduce(Set.new, :|)
        end

        def take_over(node, piece, used)
          called = state(node)
          used.merge(spread(piece.writes | piece.fills | called.writes | called.sums,
                            piece.changed))
          used.merge(kept_blocks(node))
        end

        # Does it use what the first gave?
        def touches?(node, used)
          @reads[node] ||= begin
            reads = expanded(uses(node))
            reads | @place.sources.state(reads).reads
          end
          uses(node).forwards? || @reads[node].intersect?(used)
        end

        # What a lambda reads that a variable holds counts where the variable is read; so for a
        # method that is defined with a block here.
        def expanded(piece)
          found = piece.reads
          @place.settings.each do |write|
            next unless found.include?(write.name.to_s) && lambda?(write.value)

            found |= uses(write.value).reads
          end
          @place.defined_here.each do |name, block|
            found |= uses(block).reads if found.include?("##{name}")
          end
          found
        end

        def lambda?(node)
          return true if node.is_a?(Prism::LambdaNode)

          node.is_a?(Prism::CallNode) && %i[lambda proc new method].include?(node.name) &&
            (node.block || node.name == :method)
        end

        # --- from one statement to the next ---

        # Goes through the statements between the two, up to the second's call.
        def follows?(statements, before, after, used, first, second)
          return true if leaves?(before) || acts_on?(before, first) || guards?(before, used, first)

          from = statements.body.index(before)
          to = statements.body.index(after)
          between = statements.body[(from + 1)...to]
          return true if changes_both?(between, first, second)
          return true if between.any? { |node| passes(node, used) == :fixed }

          takes?(second, after, used)
        end

        # What is changed between the two, and used by both, cannot be as it was for both.
        def changes_both?(between, first, second)
          changed = between.reduce(Set.new) do |names, node|
            piece = uses(node)
            called = state(node)
            spread(names | piece.writes | called.writes | called.sums, piece.changed)
          end
          return true if changed.include?("::")

          inputs = ->(step) { expanded(step.uses) | step.state_reads | step.closed_reads }
          changed.intersect?(inputs.call(first)) && changed.intersect?(inputs.call(second))
        end

        # In a loop, what a turn does for its effect delays no other.
        def ends_loop?(node, used)
          piece = uses(node)
          return piece.leaves? if used.include?(DECIDED)
          return false unless touches?(node, used)
          return true if piece.leaves? || piece.blind?

          used << DECIDED if piece.skips?
          take_over(node, piece, used)
          false
        end

        # @return [Symbol, nil] :fixed where what follows depends on it
        def passes(node, used)
          piece = uses(node)
          return renew(node, used) unless touches?(node, used)
          return :fixed if leaves?(node) || piece.blind? || acts?(node, used) || guards?(node, used)

          take_over(node, piece, used)
          nil
        end

        # A variable that is set to something else.
        def renew(node, used)
          used.delete(node.name.to_s) if node.is_a?(Prism::LocalVariableWriteNode)
          nil
        end

        # A statement that may end the method by what the first gave.
        def leaves?(node)
          uses(node).leaves? || uses(node).skips?
        end

        # --- calls for what they do ---

        # Is the first an argument, or the receiver, of such a call?
        def acts_on?(statement, first)
          node = first.node
          until node.equal?(statement)
            node = @code.parent(node) or return false
            return true if act?(node)
          end
          false
        end

        # Is there one that uses what the first gave, as a check of it does?
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

        # Does what the first gave decide whether something is called that may end the method?
        def guards?(node, used, first = nil)
          condition = condition_of(node)
          decided = condition &&
                    (touches?(condition, used) || (first && holds?(condition, first.node)))
          return true if decided && calls_own?(node, condition)

          node.compact_child_nodes.any? { |child| guards?(child, used, first) }
        end

        def condition_of(node)
          case node
          when *CONDITIONALS then node.predicate
          when Prism::AndNode, Prism::OrNode then node.left
          end
        end

        def calls_own?(node, condition)
          node.compact_child_nodes.any? do |child|
            next false if child.equal?(condition)

            (act?(child) && child.receiver.nil?) || calls_own?(child, condition)
          end
        end

        # --- the second's call inside its statement ---

        def together?(whole)
          return !whole.safe_navigation? if whole.is_a?(Prism::CallNode)

          WHOLES.include?(whole.class)
        end

        # Does it use what the first gave?
        def takes?(second, statement, used)
          return true if (expanded(second.uses) | second.closed_reads).intersect?(used)

          child = second.node
          until child.equal?(statement)
            parent = @code.parent(child) or return true
            return true if decides?(parent, child, used)
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
            !holds?(parent.left, child) && touches?(parent.left, used)
          when Prism::WhenNode, Prism::InNode then touches?(parent, used)
          when Prism::RescueNode then true
          when *OR_WRITES then used.include?(parent.name.to_s)
          when Prism::IndexOrWriteNode then has_key?(parent, used)
          when Prism::CallOrWriteNode then used.include?("##{parent.read_name}")
          else false
          end
        end

        # `found[:user] ||= find`, where the first may have set that key.
        def has_key?(node, used)
          root = Uses.root(node.receiver)
          key = Uses.key(node)
          return false unless root && used.include?(root)

          key.nil? || used.include?("#{root}#{key}") ||
            used.none? { |name| name.start_with?("#{root}[") }
        end

        def earlier?(statements, child, used)
          to = statements.body.index(child)
          statements.body[0...to].any? { |node| passes(node, used) == :fixed }
        end
      end
    end
  end
end
