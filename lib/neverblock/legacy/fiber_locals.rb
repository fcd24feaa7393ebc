# frozen_string_literal: true

# Fiber#[] and Fiber#[]=: variables of a fiber, readable from outside it, as NeverBlock 0.1 gave every fiber. (Fiber[] of Ruby 3.2, without an instance, is
# inherited storage, and Thread.current[] can only be reached from inside.) Pools keep Fiber.current[:callbacks] here.

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

    # Behind whatever a later Ruby may define itself.
    ::Fiber.include(FiberLocals)
  end
end
