# frozen_string_literal: true

# Tilt compiles a template into a method whose name is that of its thread, takes the method out and removes the name: two fibers of one thread that compile at once
# have one name, and a view ends with "undefined method `__tilt_8180'", or is another's. Here the name is of the fiber. Tilt 2.0 to 2.9: lib/tilt/template.rb,
# Template#compile_template_method, which says Thread.current.object_id and nothing else of Thread.

module NeverBlock
  module Compat
    module Tilt
      # Puts it in place once, when Tilt is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Tilt::Template) && defined?(::Tilt::VERSION) && ::Tilt::VERSION.to_i == 2

        ::Tilt::Template.const_set(:Thread, Named) unless ::Tilt::Template.const_defined?(:Thread, false)
      end

      # What Thread is to that class alone.
      module Named
        # @return [Fiber, Thread] whose object_id is the name
        def self.current
          Compat.scheduler ? ::Fiber.current : ::Thread.current
        end
      end
    end
  end
end
