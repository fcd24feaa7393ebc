# frozen_string_literal: true

# Fiber#[] and Fiber#[]=: variables of a fiber, readable from outside it. NeverBlock 0.1 gave them
# to every fiber. Fiber[] of Ruby 3.2, without an instance, is inherited storage. Thread.current[]
# works only in the fiber itself. Pools keep their Fiber.current[:callbacks] here.

module NeverBlock
  module Legacy
    module FiberLocals
      # @param name [Symbol, String] both name the same variable
      # @return [Object, nil]
      def [](name)
        @neverblock_locals && @neverblock_locals[name.to_sym]
      end

      # @param name [Symbol, String]
      def []=(name, value)
        (@neverblock_locals ||= {})[name.to_sym] = value
      end
    end

    # Included, not prepended: a later Ruby's own methods of these names would have precedence.
    ::Fiber.include(FiberLocals)
  end
end
