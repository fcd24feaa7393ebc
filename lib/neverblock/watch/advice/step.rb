# frozen_string_literal: true

# A call of one method in which the request has waited, with the waits; and what is known of the
# code that ran in it: what that reads and writes beyond its arguments.

require "neverblock/watch/advice/closures"
require "neverblock/watch/advice/statement"
require "neverblock/watch/advice/uses"
require "neverblock/watch/advice/words"

module NeverBlock
  module Watch
    module Advice
      class Step
        # Of redis-client.
        REDIS_CALLS = %i[call call_v call_once call_once_v blocking_call blocking_call_v].freeze

        # @return [Prism::Node]
        attr_reader :node
        # @return [Array<Wait>]
        attr_reader :waits

        # @param node [Prism::Node] the call, or what holds it
        # @param place [Place] where the node is
        # @param parts [Array<Step>, nil] of which it is made
        def initialize(node, place, parts = nil)
          @node = node
          @place = place
          @parts = parts
          @waits = parts.to_a.flat_map(&:waits)
        end

        # @param following [Step]
        # @return [Step] one after the other, as one task
        def then(following)
          Step.new(following.node, @place, parts + following.parts)
        end

        # @return [Array<Step>]
        def parts
          @parts || [self]
        end

        # @return [Float] seconds
        def waited_s
          waits.sum(&:for_s)
        end

        def line
          node.location.start_line
        end

        # @return [Array<String>]
        def kinds
          waits.map(&:kind).uniq
        end

        # @return [Uses] of the call itself
        def uses
          @uses ||= Uses.of(node)
        end

        # @return [Set<String>]
        def state_reads
          @state_reads ||= called.reads | inner.flat_map { |piece| piece.reads.grep(Sources::STATE) }
        end

        # @return [Set<String>]
        def state_writes
          @state_writes ||= begin
            written = inner.flat_map { |piece| (piece.writes - piece.sums).grep(Sources::STATE) }
            called.writes | written | filled
          end
        end

        # @return [Set<String>] what is only added to
        def sums
          @sums ||= called.sums | inner.flat_map { |uses| uses.sums.to_a }
        end

        # Of the process, the class or the fiber.
        # @return [Set<String>]
        def shared_writes
          @shared_writes ||= state_writes.reject { |name| name.match?(/\A@(?!@)/) }.to_set
        end

        # Of an object.
        # @return [Set<String>]
        def own_writes
          state_writes - shared_writes
        end

        # What the called method does to the objects that it is called on and given. One that keeps
        # something is another object afterwards.
        # @return [Set<String>] variables
        def changed_arguments
          changed = own_writes.any? || closures.change_parameters? ||
                    chains.any? { |chain| changes_parameters?(chain.first) }
          changed ? uses.reads.reject { |name| name.include?("#") }.to_set : Set.new
        end

        # @return [Boolean] whether it may not change places with other steps
        def fixed?
          return @fixed if defined?(@fixed)

          @fixed = unclear? || writes? || dropped? || closures.fixed? ||
                   state_reads.include?("Thread.current")
        end

        # @return [Set<String>] variables of this method that lambdas read which have run in it
        def closed_reads
          closures.reads
        end

        # @return [Boolean] whether it does what cannot be seen, or may end its method
        def unclear?
          uses.leaves? || uses.blind? || uses.forwards? || unread? || inner.any?(&:blind?)
        end

        # A method of the application may keep what it has got: then the call is no end in itself,
        # if nothing in there can end the caller.
        # @return [Boolean] whether nobody takes what it gives
        def dropped?
          return false unless @place.dropped?(node)

          chains.any?(&:empty?) || called.acts || inner.any?(&:leaves?) || keeps_nothing?
        end

        # @return [Boolean] whether it changes, or may change, what others see
        def writes?
          return @writes if defined?(@writes)

          @writes = waits.any? { |wait| writes_by_name?(wait) } || inner_names_write? ||
                    commands? || http_write? || told_to_write?
        end

        # @return [Boolean] whether the driver is called at the application's line itself
        def single_connection?
          waits.any? do |wait|
            chain_of(wait).empty? && Words::SINGLE_CONNECTIONS.include?(wait.gem_frames.first&.class_name)
          end
        end

        # @return [String, nil] what holds the object that is called; nil: an object of its own in
        #   each call, such as that of a class method
        def connection
          case (held = root)
          when nil, "self" then nil
          when "::" then Uses.object(node.receiver)
          else held.delete_prefix("#")
          end
        end

        # @return [String, nil] the variable with the object that is called
        def root
          Uses.root(node.receiver) if node.is_a?(Prism::CallNode) && node.receiver
        end

        private

        # Frames of the application that the call has led to.
        def chain_of(wait)
          wait.own_frames.drop(@place.depth + 1)
        end

        def chains
          @chains ||= waits.map { |wait| chain_of(wait) }.uniq
        end

        def closures
          @closures ||= Closures.new(node, @place, chains)
        end

        # @return [Array<Prism::Node>] the methods and blocks of those frames
        def bodies
          @bodies ||= chains.flatten.uniq.flat_map { |frame| bodies_of(frame) }.compact.uniq
        end

        # The method around it, with its blocks.
        def bodies_of(frame)
          return [closures.lambda] if closures.of_lambda?(frame)

          code = @place.sources.code(frame.path) or return []
          scope = code.scopes(frame.line, block: false).first
          return [scope.parameters, scope.body] if scope.is_a?(Prism::DefNode)

          [code.scopes(frame.line, block: true).first]
        end

        # What was called where it has waited is known: which of the methods of its name that was.
        def observed?(name)
          @observed ||= waits.flat_map do |wait|
            (chain_of(wait) + wait.gem_frames.first(1)).map(&:method_name)
          end
          name.include?("#") && @observed.include?(name[/#(.*)/, 1])
        end

        # Code that cannot be read, as a template.
        def unread?
          chains.flatten.any? { |frame| @place.sources.code(frame.path).nil? }
        end

        def inner
          @inner ||= bodies.map { |body| Uses.of(body) }
        end

        def called
          @called ||= begin
            names = [uses, *inner].reduce(Set.new) { |all, piece| all | piece.reads }
            names.delete(Uses.called(node)) if closures.lambda
            @place.sources.state(names.reject { |name| observed?(name) })
          end
        end

        # `@user ||= find` is a write where find has waited.
        def filled
          chains.flat_map do |chain|
            chain.flat_map { |frame| @place.sources.code(frame.path)&.filled_on(frame.line) || [] }
          end
        end

        def changes_parameters?(frame)
          return false if frame && closures.of_lambda?(frame)

          code = frame && @place.sources.code(frame.path) or return false
          method = code.scopes(frame.line, block: false).first
          return false unless method.is_a?(Prism::DefNode) && method.parameters

          names = method.locals.map(&:to_s)
          Uses.of(method.body).changed.intersect?(names)
        end

        def keeps_nothing?
          state_writes.none? { |name| name.start_with?("@", "#") }
        end

        # --- does it change what others see? ---

        def writes_by_name?(wait)
          names = chain_of(wait).map(&:method_name)
          names << node.name.to_s if node.is_a?(Prism::CallNode)
          return true if names.any? { |name| Words.write?(name) }
          return true if wait.gem_frames.any? { |frame| Words::WRITES_INSIDE.include?(frame.method_name) }

          outermost = wait.gem_frames.first or return false
          !Words.read_call?(outermost.name) && !told_to_read?(outermost)
        end

        # What runs in other fibers is not observed.
        def inner_names_write?
          waits.any? { |wait| wait.kind == "fibers" } &&
            uses.reads.any? { |name| name.include?("#") && Words.write?(name[/#(.*)/, 1]) }
        end

        # What a command does is not known.
        def commands?
          return true if kinds.include?("process")

          [uses, *inner, *values].any? do |piece|
            piece.reads.any? { |name| Words::COMMANDS.include?(name[/#(.*)/, 1]) }
          end
        end

        def told_to_read?(frame)
          return false unless Words::TOLD_CALLS.match?(frame.name)
          return redis_read? if frame.class_name.start_with?("Redis")

          Statement.told(texts) == :read || http_read? ||
            texts.any? { |text| Words::GRAPHQL_READ.match?(text) }
        end

        def http_read?
          constants.any? { |name| Words::HTTP_READ_CLASS.match?(name) } ||
            all_texts.any? { |text| Words::HTTP_READ.match?(text) }
        end

        def http_write?
          return false unless kinds.include?("http") || kinds.include?("io")

          constants.any? { |name| Words::HTTP_WRITE_CLASS.match?(name) } ||
            all_texts.any? { |text| Words::HTTP_WRITE.match?(text) || Words::GRAPHQL_WRITE.match?(text) }
        end

        # A method of the application may make what is sent.
        def pieces
          @pieces ||= begin
            names = [uses, *inner].flat_map { |piece| piece.reads.to_a }.uniq
            made = @place.sources.pieces(names.reject { |name| observed?(name) })
            [uses, *inner, *made, *values]
          end
        end

        def values
          @values ||= @place.values_of(node)
        end

        def constants
          @constants ||= pieces.flat_map { |piece| piece.constants.to_a }.uniq
        end

        def all_texts
          @all_texts ||= pieces.flat_map(&:texts) + texts_in(constants)
        end

        def texts_in(constants)
          codes = [@place.code, *chains.flatten.filter_map { |one| @place.sources.code(one.path) }]
          values = constants.flat_map do |name|
            codes.uniq.filter_map { |code| code.constant(name[/\w+\z/]) }
          end
          values.flat_map { |value| Uses.of(value).texts }
        end

        def texts
          @texts ||= [uses, *inner, *values].flat_map(&:texts)
        end

        # A driver that is told by a text is believed only where the text is known.
        def told_to_write?
          return true if texts.any? { |text| Words::STORES.match?(text) }

          case Statement.told(texts)
          when :read then false
          when :write then true
          else waits.any? { |wait| by_text?(wait) }
          end
        end

        # redis-client: the command is the first argument.
        def redis_read?
          calls = [node, *bodies].flat_map { |one| redis_calls(one) }
          calls.any? && calls.all? do |call|
            first = call.arguments&.arguments.to_a.first
            first = first.elements.first if first.is_a?(Prism::ArrayNode)
            [Prism::StringNode, Prism::SymbolNode].include?(first.class) &&
              Words.read?(first.unescaped.downcase)
          end
        end

        def redis_calls(node)
          inside = node.compact_child_nodes.flat_map { |child| redis_calls(child) }
          told = node.is_a?(Prism::CallNode) && REDIS_CALLS.include?(node.name)
          told ? [node, *inside] : inside
        end

        def by_text?(wait)
          frame = wait.gem_frames.first or return wait.kind == "database"
          return true if Words::TEXT_DRIVERS.include?(frame.class_name)

          wait.kind == "database" && Words::TEXT_METHODS.include?(frame.method_name)
        end
      end
    end
  end
end
