# frozen_string_literal: true

# Tilt compiles a template into a method with a name made of its thread's id, takes the method out
# and removes the name. Two fibers of one thread that compile at once use one name. A view then ends
# with "undefined method `__tilt_8180'", or is another's. Here the name is made of the fiber's id.
# Tilt 2.0 to 2.9: lib/tilt/template.rb, Template#compile_template_method, which uses nothing of
# Thread but Thread.current.object_id.

module NeverBlock
  module Compat
    module Tilt
      # Installs it once, when Tilt is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Tilt::Template) && defined?(::Tilt::VERSION)
        return unless ::Tilt::VERSION.to_i == 2

        template = ::Tilt::Template
        template.const_set(:Thread, Named) unless template.const_defined?(:Thread, false)
      end

      # Stands for Thread in that class alone.
      module Named
        # @return [Fiber, Thread] whose object_id becomes the name
        def self.current
          Compat.scheduler ? ::Fiber.current : ::Thread.current
        end
      end
    end
  end
end
