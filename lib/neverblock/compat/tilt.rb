# frozen_string_literal: true

# Tilt compiles a template into a method with a name made of its thread's id, takes the method out
# and removes the name. Two fibers of one thread that compile at once use one name. A view then ends
# with "undefined method `__tilt_8180'", or is another's. Here the name is made of the fiber's id.
# Tilt 2.0 to 2.9: lib/tilt/template.rb, Template#compile_template_method, which uses nothing of
# Thread but Thread.current.object_id.

require "neverblock/compat/thread_names"

module NeverBlock
  module Compat
    module Tilt
      # Installs it once, when Tilt is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Tilt::Template) && defined?(::Tilt::VERSION)

        ThreadNames.give(::Tilt::Template) if ::Tilt::VERSION.to_i == 2
      end
    end
  end
end
