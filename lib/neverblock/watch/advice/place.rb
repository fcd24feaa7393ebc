# frozen_string_literal: true

# Where in the code the waits of a request part: a method or block that ran once, at a certain depth
# of their backtraces. It finds the call of each wait, and says what may come before what.

require "neverblock/watch/advice/sources"

module NeverBlock
  module Watch
    module Advice
      class Place
        VALUE_KEPT = [
          Prism::LocalVariableWriteNode, Prism::InstanceVariableWriteNode,
          Prism::ClassVariableWriteNode, Prism::GlobalVariableWriteNode, Prism::ConstantWriteNode,
          Prism::MultiWriteNode, Prism::ReturnNode, Prism::ArgumentsNode,
          Prism::LocalVariableOrWriteNode, Prism::InstanceVariableOrWriteNode,
          Prism::LocalVariableOperatorWriteNode, Prism::InstanceVariableOperatorWriteNode,
          Prism::IndexOrWriteNode, Prism::IndexOperatorWriteNode, Prism::CallOrWriteNode,
          Prism::CallOperatorWriteNode, Prism::MatchRequiredNode, Prism::MatchPredicateNode,
          Prism::EmbeddedStatementsNode, Prism::AndNode, Prism::OrNode
        ].freeze
        SETS = [Prism::LocalVariableWriteNode, Prism::InstanceVariableWriteNode].freeze
        LAMBDA_CALLS = %i[call [] yield ===].freeze
        DEFINITIONS = %i[define_method define_singleton_method].freeze

        # @return [Code]
        attr_reader :code
        # @return [Prism::Node]
        attr_reader :scope
        # @return [Integer] number of the frame, from outside, among the application's
        attr_reader :depth
        # @return [Sources]
        attr_reader :sources

        # @param waits [Array<Wait>] of one frame
        # @param depth [Integer]
        # @param sources [Sources]
        # @return [Place, nil] nil: the frame is not understood
        def self.find(waits, depth, sources)
          frames = waits.first.own_frames
          code = sources.code(frames[depth].path) or return
          scope = scope_of(frames, depth, code)
          return unless scope

          lines = waits.map { |wait| wait.own_frames[depth].line }
          new(code, scope, depth, sources) if lines.all? { |line| code.covers?(scope, line) }
        end

        # The method or block that a frame is in. A block's frame has its method's name: it is told
        # by the frame outside of it that has called something with the block.
        def self.scope_of(frames, depth, code)
          frame = frames[depth]
          return code.scopes(frame.line, block: true).first if frame.block?

          outside = (0...depth).reverse_each.find { |at| frames[at].same_method?(frame) }
          callee = frames[depth + 1]&.method_name
          block = outside && block_of(frames, outside, frame, code, callee)
          return block if block
          return if outside && code.rescues?(frame.line, frames[outside].line)

          code.scope_by_body(frame.line)
        end

        def self.block_of(frames, outside, frame, code, callee)
          scope = scope_of(frames, outside, code)
          scope && code.calls_with_block(scope, frames[outside].line, frame.line,
                                         callee).first&.block
        end
        private_class_method :scope_of, :block_of

        def initialize(code, scope, depth, sources)
          @code = code
          @scope = scope
          @depth = depth
          @sources = sources
        end

        # @param wait [Wait]
        # @return [Array<Prism::Node>] calls that it may be in; several of one name on one line
        def calls_of(wait)
          frame = wait.own_frames[depth]
          following = wait.own_frames[depth + 1]
          within = calls_with_block(wait)
          return within.first(1) unless within.empty?

          named(frame.line, following || wait.gem_frames.first)
        end

        # @param wait [Wait]
        # @return [Prism::Node, nil] the innermost call with a block, or loop, that the wait is in
        def loop_of(wait)
          call = calls_with_block(wait).first
          return call if call && !Words::ONCE.include?(call.name)

          calls = calls_of(wait)
          return if calls.size != 1

          code.ancestors(calls.first).take_while { |node| !node.equal?(scope) }
              .find { |node| Uses::LOOPS.include?(node.class) }
        end

        # @param node [Prism::Node]
        # @return [Boolean] whether nobody takes its value: it was called for what it does
        def dropped?(node)
          child = node
          code.ancestors(node).each do |parent|
            return false if VALUE_KEPT.include?(parent.class) || child.equal?(scope)
            return true if parent.is_a?(Prism::StatementsNode) && !last?(parent, child)
            return drops_value?(parent) if Code::BLOCKS.include?(parent.class)
            return false if parent.is_a?(Prism::DefNode)
            return true if Uses::LOOPS.include?(parent.class)
            return false if parent.is_a?(Prism::CallNode)
            return false if condition?(parent, child)

            child = parent
          end
          false
        end

        # @param node [Prism::Node]
        # @return [Array<Uses>] of what variables and constants in it are set to
        def values_of(node)
          uses = Uses.of(node)
          assigned = assignments.select { |write| uses.reads.include?(write.name.to_s) }
          values = assigned.map(&:value) + uses.constants.filter_map { |name| code.constant(name) }
          values.map { |value| Uses.of(value) }
        end

        # @return [Array<Prism::Node>] where the scope's variables are set
        def assignments
          @assignments ||= [].tap do |found|
            find(scope, found) { |node| node.is_a?(Prism::LocalVariableWriteNode) }
          end
        end

        # @return [Array<Prism::Node>] where variables of this scope and those around it are set
        def settings
          @settings ||= begin
            outer = code.ancestors(scope).find { |node| node.is_a?(Prism::DefNode) } || scope
            [].tap { |found| find(outer, found) { |node| SETS.include?(node.class) } }
          end
        end

        # @return [Array<Prism::Node>] blocks that may be called later
        def kept_blocks
          @kept_blocks ||= [].tap do |found|
            find(scope, found) { |node| Code::BLOCKS.include?(node.class) && code.kept?(node) }
          end
        end

        # @param call [Prism::Node] as `fetch.(1)`
        # @return [Array<Prism::Node>] lambdas that the variable is set to that it is made on
        def lambdas_of(call)
          return [] unless call.is_a?(Prism::CallNode) && LAMBDA_CALLS.include?(call.name)
          return [] unless call.receiver.is_a?(Prism::LocalVariableReadNode)

          settings.select { |write| write.name == call.receiver.name }
                  .filter_map { |write| lambda_in(write.value) }
        end

        # @return [Hash{String => Prism::Node}] methods that a call in here defines
        def defined_here
          @defined_here ||= begin
            calls = [].tap { |found| find(scope, found) { |node| defines?(node) } }
            calls.to_h { |call| [call.arguments.arguments.first.unescaped, call.block] }
          end
        end

        # @param node [Prism::Node]
        # @return [Boolean] whether it is in a block that has one connection of a database
        def one_connection?(node)
          [node, *code.ancestors(node)].any? do |parent|
            next false unless Code::BLOCKS.include?(parent.class)

            call = code.parent(parent)
            call.is_a?(Prism::CallNode) && Words::ONE_CONNECTION.include?(call.name)
          end
        end

        # @param calls [Array<Prism::Node>]
        # @return [Prism::Node, nil] what holds all of them, where that is one expression
        def whole(calls)
          return calls.first if calls.size < 2

          node = calls.map { |call| [call, *code.ancestors(call)] }.reduce(:&).first
          node unless node.is_a?(Prism::StatementsNode) || Code::SCOPES.include?(node.class)
        end

        private

        # The calls at the frame's line whose block the next frame is in, the innermost first.
        def calls_with_block(wait)
          frame, following, callee = wait.own_frames[depth, 3]
          return [] unless following && frame.path == following.path
          return [] unless following.same_method?(frame) || following.block?

          callee ||= wait.gem_frames.first
          code.calls_with_block(scope, frame.line, following.line, callee&.method_name)
        end

        def named(line, callee)
          calls = code.calls(scope).select { |call| code.covers?(call, line) }
          near = calls.select { |call| message_line(call) == line }
          near = calls if near.empty?
          found = near.select { |call| callee && name?(call, callee) }
          found = calls.select { |call| callee && name?(call, callee) } if found.empty?
          found.empty? ? [whole(near)].compact : found
        end

        def name?(call, callee)
          name = callee.method_name
          case call
          when Prism::CallNode
            call.name.to_s == name || (call.name == :new && name == "initialize") ||
              runs?(call, callee)
          when *Code::COMMANDS then name == "`"
          when Prism::YieldNode then false
          else true
          end
        end

        # Does it call a lambda that the frame is of?
        def runs?(call, callee)
          callee.path == code.path && lambdas_of(call).any? { |one| code.covers?(one, callee.line) }
        end

        def message_line(call)
          place = call.respond_to?(:message_loc) && call.message_loc
          (place || call.location).start_line
        end

        def last?(statements, node)
          statements.body.last.equal?(node) && !ensure?(statements)
        end

        def ensure?(statements)
          code.parent(statements).is_a?(Prism::EnsureNode)
        end

        def drops_value?(block)
          call = code.parent(block)
          call.is_a?(Prism::CallNode) && Words::DROPS_VALUE.include?(call.name)
        end

        def condition?(parent, child)
          parent.respond_to?(:predicate) && parent.predicate.equal?(child)
        end

        def lambda_in(value)
          return value if value.is_a?(Prism::LambdaNode)

          value.block if value.is_a?(Prism::CallNode) && %i[lambda proc].include?(value.name) &&
                         value.block.is_a?(Prism::BlockNode)
        end

        def defines?(node)
          node.is_a?(Prism::CallNode) && DEFINITIONS.include?(node.name) && node.block &&
            node.arguments&.arguments&.first.is_a?(Prism::SymbolNode)
        end

        def find(node, found, &wanted)
          node.compact_child_nodes.each do |child|
            found << child if wanted.call(child)
            find(child, found, &wanted) unless child.is_a?(Prism::DefNode)
          end
        end
      end
    end
  end
end
