# frozen_string_literal: true

# Blocks and lambdas that have run in a step and were made outside of it: what they read and write
# of the variables around them, which the step's own text does not show.

require "neverblock/watch/advice/sources"

module NeverBlock
  module Watch
    module Advice
      class Closures
        MADE = [Prism::ArrayNode, Prism::HashNode, Prism::StringNode,
                Prism::InterpolatedStringNode].freeze

        # @param step_node [Prism::Node] the call, or what holds it
        # @param place [Place]
        # @param chains [Array<Array<Frame>>] frames of the application that the call has led to
        def initialize(step_node, place, chains)
          @node = step_node
          @place = place
          @chains = chains
        end

        # @return [Prism::Node, nil] the lambda that the step calls by a variable, where it is known
        def lambda
          return @lambda if defined?(@lambda)

          found = @place.lambdas_of(@node)
          first = @chains.map(&:first)
          @lambda = found.find { |one| first.all? { |frame| frame && in?(one, frame) } }
        end

        # @param frame [Frame] of one of the chains
        # @return [Boolean] whether it is of that lambda
        def of_lambda?(frame)
          !lambda.nil? && in?(lambda, frame)
        end

        # @return [Boolean] whether they change variables, read what another block changes, or may
        #   end the method around them
        def fixed?
          blocks.any? do |code, block|
            writes?(block) || (!lambda?(code, block) && Uses.of(block).leaves?) ||
              reads_of(block).intersect?(code.written_by_kept_blocks(code.body_around(block)))
          end
        end

        # @return [Set<String>] variables of the step's own method
        def reads
          @reads ||= begin
            own = @place.code.body_around(@node)
            here = blocks.select { |code, block| code.body_around(block).equal?(own) }
            here.map { |_, block| reads_of(block) }.reduce(Set.new, :|)
          end
        end

        # @return [Boolean] whether one of them changes what it is given
        def change_parameters?
          blocks.any? do |_, block|
            changed = Uses.of(block.body).changed & block.locals.map(&:to_s)
            (changed - made_in(block.body)).any?
          end
        end

        private

        # @return [Array<String>] variables that hold what was made there
        def made_in(body)
          statements = body.is_a?(Prism::StatementsNode) ? body.body : []
          writes = statements.grep(Prism::LocalVariableWriteNode)
          writes.group_by(&:name).select { |_, all| all.all? { |write| made?(write.value) } }
                .keys.map(&:to_s)
        end

        def made?(value)
          MADE.include?(value.class) || (value.is_a?(Prism::CallNode) && value.name == :new)
        end

        def in?(block, frame)
          frame.path == @place.code.path && @place.code.covers?(block, frame.line)
        end

        def writes?(block)
          uses = Uses.of(block)
          own = block.locals.to_set(&:to_s)
          (locals(uses.writes | uses.fills | uses.changed) - own).any?
        end

        def reads_of(block)
          locals(Uses.of(block).reads)
        end

        def lambda?(code, block)
          call = code.parent(block)
          block.is_a?(Prism::LambdaNode) || (call.is_a?(Prism::CallNode) && call.name == :lambda)
        end

        def locals(names)
          names.reject { |name| name.match?(Sources::STATE) }.to_set
        end

        # @return [Array<Array(Code, Prism::Node)>]
        def blocks
          @blocks ||= @chains.flat_map do |chain|
            chain.each_index.flat_map { |at| blocks_at(chain, at) }
          end.uniq { |_, block| block.object_id }
        end

        # Where the method around a block was called in the step, its variables are new.
        def blocks_at(chain, at)
          frame = chain[at]
          earlier = (0...at).select { |i| chain[i].same_method?(frame) }
          return [] if by_name?(chain, at) || earlier.any? { |i| by_name?(chain, i) }

          code = @place.sources.code(frame.path) or return []
          found = code.scopes(frame.line, block: true)
          found = found.reject { |block| code.holds?(@node, block) }
          found = found.reject { |block| new_there?(code, block, chain.values_at(*earlier)) }
          outside = found.reject { |block| code.holds?(block, @node) }
          (outside.empty? ? found : outside).map { |block| [code, block] }
        end

        # Is it called at once, in a block that has run in the step itself?
        def new_there?(code, block, earlier)
          !code.kept?(block) && earlier.any? do |frame|
            code.scopes(frame.line, block: true).any? do |one|
              !one.equal?(block) && code.holds?(one, block)
            end
          end
        end

        # Is the frame that of a method which was called by its name?
        def by_name?(chain, at)
          name = chain[at].method_name
          return calls?(Uses.of(@node).reads, name) if at.zero?

          caller = chain[at - 1]
          return true if caller.method_name == name && !caller.same_method?(chain[at])

          code = @place.sources.code(caller.path) or return false
          code.each_call.any? { |call| code.covers?(call, caller.line) && named?(call.name, name) }
        end

        def calls?(reads, name)
          reads.any? { |read| read.include?("#") && named?(read[/#(.*)/, 1], name) }
        end

        def named?(called, name)
          called.to_s == name || (called.to_s == "new" && name == "initialize")
        end
      end
    end
  end
end
