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
          Prism::CallOperatorWriteNode, Prism::EmbeddedStatementsNode, Prism::AndNode, Prism::OrNode
        ].freeze
        # Called without their name in the source.
        INDIRECT = %i[call yield [] === send public_send __send__ then yield_self].freeze

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
          frames = waits.map { |wait| wait.own_frames[depth] }
          first = frames.first
          code = sources.code(first.path)
          return if code.nil? || frames.any?(&:detour?)

          scopes = code.scopes(first.line, block: first.block?)
          scope = scopes.find { |found| frames.all? { |frame| code.covers?(found, frame.line) } }
          new(code, scope, depth, sources) if scope
        end

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
          return calls_with_block(frame, following) if following&.block? && in_block?(frame, following)

          named(frame.line, following || wait.gem_frames.first)
        end

        # @param wait [Wait]
        # @return [Prism::Node, nil] the innermost call with a block, or loop, that the wait is in
        def loop_of(wait)
          frame = wait.own_frames[depth]
          following = wait.own_frames[depth + 1]
          if following&.block? && frame.path == following.path
            call = calls_with_block(frame, following).first
            return call if call && !Words::ONCE.include?(call.name)
          end
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
        # @return [Array<String>] literals that variables and constants in it are set to
        def texts_of(node)
          uses = Uses.of(node)
          assigned = assignments.select { |write| uses.reads.include?(write.name.to_s) }
          values = assigned.map(&:value) + uses.constants.filter_map { |name| code.constant(name) }
          values.flat_map { |value| Uses.of(value).texts }
        end

        # @return [Array<Prism::Node>] where the scope's variables are set
        def assignments
          @assignments ||= [].tap { |found| find_assignments(scope, found) }
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

        private

        def in_block?(frame, following)
          frame.path == following.path && !calls_with_block(frame, following).empty?
        end

        def calls_with_block(frame, following)
          found = code.calls(scope).select do |call|
            block = call.respond_to?(:block) ? call.block : nil
            block.is_a?(Prism::BlockNode) && code.covers?(block, following.line) && code.covers?(call, frame.line)
          end
          found.min_by { |call| call.location.length }&.then { |call| [call] } || []
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
              (callee.block? && INDIRECT.include?(call.name))
          when *Code::COMMANDS then name == "`"
          when Prism::YieldNode then callee.block?
          else true
          end
        end

        def message_line(call)
          place = call.respond_to?(:message_loc) && call.message_loc
          (place || call.location).start_line
        end

        # What holds all of these calls, where it is one expression.
        def whole(calls)
          return calls.first if calls.size < 2

          shared = calls.map { |call| [call, *code.ancestors(call)] }
          node = shared.first.find { |found| shared.all? { |nodes| nodes.any? { |other| other.equal?(found) } } }
          node unless node.is_a?(Prism::StatementsNode) || Code::SCOPES.include?(node.class)
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

        def find_assignments(node, found)
          node.compact_child_nodes.each do |child|
            found << child if child.is_a?(Prism::LocalVariableWriteNode)
            find_assignments(child, found) unless child.is_a?(Prism::DefNode)
          end
        end
      end
    end
  end
end
