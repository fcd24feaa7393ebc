# frozen_string_literal: true

# The syntax tree of one source file, and what a line of a backtrace means in it: the method or
# block that was running, and the call that it was in.

require "prism"
require "neverblock/watch/advice/uses"
require "neverblock/watch/advice/words"

module NeverBlock
  module Watch
    module Advice
      class Code
        # A longer file is generated, and not looked at.
        BYTES_MAX = 1_000_000
        BLOCKS = [Prism::BlockNode, Prism::LambdaNode].freeze
        BODIES = [Prism::DefNode, Prism::ProgramNode, Prism::ClassNode, Prism::ModuleNode,
                  Prism::SingletonClassNode].freeze
        SCOPES = (BLOCKS + BODIES).freeze
        COMMANDS = [Prism::XStringNode, Prism::InterpolatedXStringNode].freeze
        CALLS = [Prism::CallNode, Prism::SuperNode, Prism::ForwardingSuperNode, Prism::YieldNode,
                 *COMMANDS].freeze
        FILLS = [Prism::InstanceVariableOrWriteNode, Prism::ClassVariableOrWriteNode,
                 Prism::GlobalVariableOrWriteNode].freeze

        # @return [String]
        attr_reader :path

        # @param path [String]
        # @return [Code, nil] nil: it cannot be read, or is not Ruby
        def self.read(path)
          return unless File.file?(path) && File.size(path) <= BYTES_MAX

          result = Prism.parse(File.read(path, encoding: Encoding::UTF_8))
          new(path, result) if result.success?
        rescue SystemCallError
          nil
        end

        # @param path [String]
        # @param result [Prism::ParseResult]
        def initialize(path, result)
          @path = path
          @lines = result.source.source.lines
          @parents = {}.compare_by_identity
          @scopes = []
          @calls = {}.compare_by_identity
          enter(result.value, nil)
        end

        # @return [Prism::Node, nil]
        def parent(node)
          @parents[node]
        end

        # @return [Array<Prism::DefNode>]
        def methods
          @scopes.grep(Prism::DefNode)
        end

        # @return [Array<String>] names of the classes and modules that are defined here, and of
        #   constants
        def owners
          modules = nodes(Prism::ClassNode, Prism::ModuleNode).map { |node| node.constant_path.name }
          (modules + nodes(Prism::ConstantWriteNode).map(&:name)).map(&:to_s)
        end

        # @return [String] the class or module around the node; "" outside of all
        def owner(node)
          found = ancestors(node).find do |parent|
            parent.is_a?(Prism::ClassNode) || parent.is_a?(Prism::ModuleNode)
          end
          found ? found.constant_path.name.to_s : ""
        end

        # @yieldparam call [Prism::CallNode] each of the file
        def each_call(&block)
          nodes(Prism::CallNode).each(&block)
        end

        # @return [Prism::Node] the method, class or file around the node
        def body_around(node)
          ancestors(node).find { |parent| BODIES.include?(parent.class) }
        end

        # @param block [Prism::Node] a block or lambda
        # @return [Boolean] whether it may be called later: a lambda, or given to a method that is
        #   not known to call it at once
        def kept?(block)
          return true if block.is_a?(Prism::LambdaNode)

          call = parent(block)
          call.is_a?(Prism::CallNode) && !Words::ITERATORS.include?(call.name)
        end

        # @param body [Prism::Node]
        # @return [Set<String>] variables of the method that such blocks of it write
        def written_by_kept_blocks(body)
          @written ||= {}.compare_by_identity
          @written[body] ||= @scopes.select { |scope|
            BLOCKS.include?(scope.class) && kept?(scope) && body_around(scope).equal?(body)
          }.map { |block| Uses.of(block).writes }.reduce(Set.new, :|)
        end

        # @return [Array<Prism::Node>] the methods, blocks and bodies that a frame may be in, the
        #   innermost first
        def scopes(line, block:)
          kinds = block ? BLOCKS : BODIES
          @scopes.select { |scope| kinds.include?(scope.class) && covers?(scope, line) }.reverse
        end

        # @return [Prism::Node, nil] the innermost method, block or body whose statements are on the
        #   line; not a block that begins there, as its call does
        def scope_by_body(line)
          @scopes.reverse.find do |scope|
            next false unless covers?(scope, line)
            next true unless BLOCKS.include?(scope.class)

            scope.location.start_line < line
          end
        end

        # @param callee [String, nil] the method that was called in the block
        # @return [Array<Prism::CallNode>] calls of this scope on a line, with a block that covers
        #   another line; the innermost first
        def calls_with_block(scope, line, inside, callee)
          found = calls(scope).select do |call|
            block = call.respond_to?(:block) ? call.block : nil
            block.is_a?(Prism::BlockNode) && covers?(block, inside) && covers?(call, line)
          end
          found.sort_by { |call| [calls?(call.block, callee) ? 0 : 1, call.location.length] }
        end

        # @return [Boolean] whether the line is in a `rescue` or `ensure` for what the other is in
        def rescues?(line, other)
          nodes(Prism::BeginNode).any? do |node|
            next false unless covers?(node, other)

            [node.rescue_clause, node.ensure_clause].compact.any? { |clause| covers?(clause, line) }
          end
        end

        # @return [Array<Prism::Node>] the calls of this scope itself, without those of its blocks
        def calls(scope)
          @calls[scope] ||= [].tap { |found| collect(scope, found) }
        end

        # @return [Array<Prism::Node>] from the node's parent up to the file
        def ancestors(node)
          found = []
          found << node while (node = @parents[node])
          found
        end

        # @return [Boolean] whether one is the other, or around it
        def holds?(outer, inner)
          outer.equal?(inner) || ancestors(inner).include?(outer)
        end

        # @return [Array<String>] variables that a `||=` around this line writes
        def filled_on(line)
          nodes(*FILLS).select { |node| covers?(node, line) }.map { |node| node.name.to_s }
        end

        # @return [Prism::Node, nil] what a constant of this file is set to
        def constant(name)
          nodes(Prism::ConstantWriteNode).find { |node| node.name.to_s == name }&.value
        end

        # @return [String] the line without what surrounds it
        def line(number)
          @lines[number - 1].to_s.strip
        end

        def covers?(node, line)
          node.location.start_line <= line && line <= node.location.end_line
        end

        private

        def nodes(*kinds)
          @nodes ||= @parents.keys.group_by(&:class)
          @nodes.values_at(*kinds).compact.flatten
        end

        def calls?(node, name)
          node.compact_child_nodes.any? do |child|
            (child.is_a?(Prism::CallNode) && child.name.to_s == name) || calls?(child, name)
          end
        end

        def enter(node, parent)
          @parents[node] = parent
          @scopes << node if SCOPES.include?(node.class)
          node.compact_child_nodes.each { |child| enter(child, node) }
        end

        def collect(node, found)
          node.compact_child_nodes.each do |child|
            next if SCOPES.include?(child.class)

            collect(child, found)
            found << child if CALLS.include?(child.class)
          end
        end
      end
    end
  end
end
