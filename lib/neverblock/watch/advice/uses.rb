# frozen_string_literal: true

# What a piece of code reads and writes, and whether it may leave its method. Names are "x", "@x",
# "@@x", "$x" and "Thread.current"; "#x" is what a method of this name tells, "Y#x" one of Y, and
# "::" what belongs to the whole process.

require "prism"
require "set"
require "neverblock/watch/advice/words"

module NeverBlock
  module Watch
    module Advice
      class Uses
        VARIABLES = [
          [Prism::LocalVariableReadNode, %i[read]], [Prism::InstanceVariableReadNode, %i[read]],
          [Prism::ClassVariableReadNode, %i[read]], [Prism::GlobalVariableReadNode, %i[read]],
          [Prism::LocalVariableWriteNode, %i[write]], [Prism::LocalVariableTargetNode, %i[write]],
          [Prism::InstanceVariableWriteNode, %i[write]],
          [Prism::InstanceVariableTargetNode, %i[write]],
          [Prism::ClassVariableWriteNode, %i[write]], [Prism::ClassVariableTargetNode, %i[write]],
          [Prism::GlobalVariableWriteNode, %i[write]],
          [Prism::GlobalVariableTargetNode, %i[write]],
          [Prism::LocalVariableOperatorWriteNode, %i[read write]],
          [Prism::LocalVariableOrWriteNode, %i[read write]],
          [Prism::LocalVariableAndWriteNode, %i[read write]],
          [Prism::InstanceVariableOrWriteNode, %i[read fill]],
          [Prism::InstanceVariableAndWriteNode, %i[read fill]],
          [Prism::ClassVariableOrWriteNode, %i[read fill]],
          [Prism::GlobalVariableOrWriteNode, %i[read fill]],
          # Sums and counters come out the same in any order.
          [Prism::InstanceVariableOperatorWriteNode, %i[write sum]],
          [Prism::ClassVariableOperatorWriteNode, %i[write sum]],
          [Prism::GlobalVariableOperatorWriteNode, %i[write sum]]
        ].to_h.freeze
        LOCALS = [
          Prism::LocalVariableReadNode, Prism::LocalVariableWriteNode,
          Prism::LocalVariableTargetNode, Prism::LocalVariableOperatorWriteNode,
          Prism::LocalVariableOrWriteNode, Prism::LocalVariableAndWriteNode
        ].freeze
        INDEX_WRITES = [Prism::IndexOperatorWriteNode, Prism::IndexAndWriteNode,
                        Prism::IndexOrWriteNode, Prism::IndexTargetNode].freeze
        LITERALS = [Prism::SymbolNode, Prism::StringNode, Prism::IntegerNode].freeze
        HASHES = [Prism::KeywordHashNode, Prism::HashNode].freeze
        LAST_MATCH = "$~"
        MATCHES = [Prism::NumberedReferenceReadNode, Prism::BackReferenceReadNode].freeze
        ATTRIBUTE_WRITES = [Prism::CallOperatorWriteNode, Prism::CallOrWriteNode,
                            Prism::CallAndWriteNode, Prism::CallTargetNode].freeze
        LOOPS = [Prism::WhileNode, Prism::UntilNode, Prism::ForNode].freeze
        LEAVES_LOOP = [Prism::BreakNode, Prism::RedoNode].freeze
        BLIND = %i[eval instance_eval class_eval binding instance_variable_set
                   instance_variable_get local_variable_set].freeze

        # fills: variables that `||=` writes where they are nil. changed: those whose object is
        # changed, of `writes`. sums: those that are only added to.
        # @return [Set<String>]
        attr_reader :reads, :writes, :fills, :sums, :changed, :constants
        # @return [Array<String>] literals
        attr_reader :texts

        # @param node [Prism::Node, nil]
        # @return [Uses]
        def self.of(node)
          new.tap { |uses| uses.add(node) if node }
        end

        # @return [String, nil] the variable that holds the object a call is made on
        def self.root(node)
          case node
          when Prism::LocalVariableReadNode, Prism::InstanceVariableReadNode,
               Prism::ClassVariableReadNode, Prism::GlobalVariableReadNode
            node.name.to_s
          when Prism::SelfNode, nil then "self"
          when Prism::ConstantReadNode, Prism::ConstantPathNode then "::"
          when Prism::CallNode then root_of_call(node)
          when Prism::ParenthesesNode then root(node.body)
          when Prism::StatementsNode then node.body.size == 1 ? root(node.body.first) : nil
          end
        end

        # Classes and modules whose names are written as those of other objects.
        MODULES = %w[HTTP HTTPX PG URI].freeze
        private_constant :MODULES

        # @return [String, nil] the constant that holds the object a call is made on; nil: it is a
        #   class or a module, by its name
        def self.object(node)
          node = node.receiver while node.is_a?(Prism::CallNode)
          return unless node.is_a?(Prism::ConstantReadNode) || node.is_a?(Prism::ConstantPathNode)

          name = node.name.to_s
          node.slice if name.match?(/\A[A-Z0-9_]+\z/) && !MODULES.include?(name)
        end

        # @return [String] "#name", or "Rates#name" where it is a constant's
        def self.called(node)
          case (receiver = node.receiver)
          when Prism::ConstantReadNode, Prism::ConstantPathNode then "#{receiver.name}##{node.name}"
          else "##{node.name}"
          end
        end

        # @return [String, nil] "[:name]" of an index that is a literal
        def self.key(node)
          keys = node.arguments&.arguments.to_a
          literal = keys.first && LITERALS.include?(keys.first.class)
          "[#{keys.first.slice}]" if literal
        end

        # @return [Set<String>] names of a block's parameters
        def self.parameters(block)
          list = block.parameters.respond_to?(:parameters) ? block.parameters.parameters : nil
          all = list ? list.requireds + list.optionals + list.posts : []
          all.select { |one| one.respond_to?(:name) }.to_set { |one| one.name.to_s }
        end

        def self.root_of_call(node)
          return "Thread.current" if thread_current?(node)

          node.receiver ? root(node.receiver) : "##{node.name}"
        end
        private_class_method :root_of_call

        def self.thread_current?(node)
          node.is_a?(Prism::CallNode) && node.name == :current &&
            node.receiver.is_a?(Prism::ConstantReadNode) &&
            %i[Thread Fiber].include?(node.receiver.name)
        end

        def initialize
          @reads = Set.new
          @writes = Set.new
          @fills = Set.new
          @sums = Set.new
          @changed = Set.new
          @constants = Set.new
          @texts = []
          @leaves = @skips = @blind = @forwards = false
        end

        # @return [Boolean] whether it may end the method: by return, an error, an answer
        def leaves?
          @leaves
        end

        # @return [Boolean] whether it may end its block's turn
        def skips?
          @skips
        end

        # @return [Boolean] whether it does what cannot be seen in the text
        def blind?
          @blind
        end

        # @return [Boolean] whether it hands on the parameters of its method: `super` without any
        def forwards?
          @forwards
        end

        # @param node [Prism::Node]
        # @param depth [Integer] blocks around it that belong to the piece
        # @param inside [Boolean] whether one of them, or a loop, takes `break` and `next`
        # @return [void]
        def add(node, depth = 0, inside: false)
          note(node, depth, inside)
          case node
          when Prism::DefNode, Prism::ClassNode, Prism::ModuleNode then return
          when Prism::BlockNode, Prism::LambdaNode then depth += 1
          end
          inside ||= depth.positive? || LOOPS.include?(node.class)
          node.compact_child_nodes.each { |child| add(child, depth, inside: inside) }
        end

        private

        def note(node, depth, inside)
          case node
          when *VARIABLES.keys then variable(node, depth)
          when Prism::CallNode then call(node)
          when Prism::ForwardingSuperNode then @forwards = true
          when *INDEX_WRITES, *ATTRIBUTE_WRITES then target(node)
          when Prism::ReturnNode, Prism::RetryNode then @leaves = true
          when *LEAVES_LOOP then @leaves ||= !inside
          when Prism::NextNode then @skips ||= !inside
          when *MATCHES then @reads << LAST_MATCH
          when Prism::MatchWriteNode, Prism::MatchLastLineNode then @writes << LAST_MATCH
          when Prism::StringNode then @texts << node.unescaped
          when Prism::SymbolNode then @texts << node.unescaped.to_s
          when Prism::InterpolatedStringNode then @texts << interpolated(node)
          when Prism::ConstantReadNode, Prism::ConstantPathNode then @constants << node.slice
          end
        end

        def variable(node, depth)
          return if LOCALS.include?(node.class) && node.depth < depth

          name = node.name.to_s
          how = VARIABLES.fetch(node.class)
          @reads << name if how.include?(:read)
          @writes << name if how.include?(:write)
          @fills << name if how.include?(:fill)
          @sums << name if how.include?(:sum)
        end

        def call(node)
          name = node.name
          @reads << (Uses.thread_current?(node) ? "Thread.current" : Uses.called(node))
          matches(name)
          @blind ||= BLIND.include?(name)
          @leaves ||= node.receiver.nil? && Words::EXITS.include?(name)
          return attribute(node,
                           name.to_s.delete_suffix("=")) if node.attribute_write? && name != :[]=

          changes(node.receiver) if Words::MUTATORS.include?(name) || name.end_with?("!")
          changes(node.receiver) if advances?(node)
          index(node) if name == :[]=
          block(node) if node.block.is_a?(Prism::BlockNode)
        end

        # A cache is read with a key, and a Hash is merged into another one.
        def advances?(node)
          return false unless Words::ADVANCES.include?(node.name)
          return false if Uses.root(node.receiver) == "::"

          given = node.arguments&.arguments.to_a.first
          case node.name
          when :read then given.nil? || given.is_a?(Prism::IntegerNode)
          when :merge then !HASHES.include?(given.class)
          else true
          end
        end

        def matches(name)
          @reads << LAST_MATCH if name == :last_match
          @writes << LAST_MATCH if Words::MATCHES.include?(name)
        end

        # A block that changes what it is given changes what its call was given.
        def block(node)
          given = node.arguments&.arguments.to_a
          given.each { |argument| changes(argument) } if node.name == :each_with_object
          names = Uses.parameters(node.block)
          return if names.empty? || !Uses.of(node.block.body).changed.intersect?(names)

          [node.receiver, *given].compact.each { |one| changes(one) }
        end

        def target(node)
          return index(node) if INDEX_WRITES.include?(node.class)

          name = node.respond_to?(:read_name) ? node.read_name : node.name
          attribute(node, name.to_s.delete_suffix("="))
        end

        # Keys that are written out are told apart. What is kept in a Hash by a key that is not is
        # a cache: a second task finds it there, or does it again.
        def index(node)
          key = Uses.key(node)
          return if key.nil? && node.is_a?(Prism::IndexOrWriteNode)

          changes(node.receiver)
          root = Uses.root(node.receiver)
          @writes << "#{root}#{key}" if key && root
        end

        def attribute(node, name)
          @writes << "##{name}"
          root = Uses.root(node.receiver)
          root == "self" ? @writes << "@#{name}" : changes(node.receiver)
        end

        def changes(receiver)
          return if receiver.nil?

          root = Uses.root(receiver)
          return if root.nil? || root == "self"

          @writes << root
          @changed << root
        end

        def interpolated(node)
          node.parts.map { |part| part.is_a?(Prism::StringNode) ? part.unescaped : "?" }.join
        end
      end
    end
  end
end
