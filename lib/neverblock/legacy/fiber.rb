# frozen_string_literal: true

# NB::Fiber: a fiber that is resumed with the result of its wait, or with an exception to raise
# there.

module NeverBlock
  module Legacy
    class Fiber < ::Fiber
      # As Fiber.yield, but an exception given to #resume is raised here.
      # @return what #resume is given
      def self.yield(*values)
        result = super
        raise result if result.is_a?(Exception)

        result
      end

      # @param evented [Boolean] false: a blocking fiber, whose waits block the thread
      def initialize(evented = true, &block)
        super(blocking: !evented, &block)
      end
    end
  end
end
