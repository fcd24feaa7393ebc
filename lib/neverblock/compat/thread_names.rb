# frozen_string_literal: true

# Libraries that name a file, or a method, after the id of their thread. Two fibers of one thread
# use one name at once: one gets what the other has written. Here the name is made of the fiber's
# id. In each of these classes nothing else is asked of Thread.current than object_id or hash.
#
#   rack-cache 1.0 to 1.17   lib/rack/cache/entity_store.rb, Disk#write: a body is written to
#                            "buf-PID-THREAD" and renamed. A response was another request's.
#   moneta 1.0 to 1.6        lib/moneta/adapters/file.rb, #store and #clear: the same with values
#   rails-latex to 2.3       lib/rails-latex/latex_to_pdf.rb: text, log and PDF lie in the folder
#                            "PID-THREAD"
#   tilt 2.0 to 2.9          tilt.rb

module NeverBlock
  module Compat
    module ThreadNames
      # Stands for Thread in one class, and in those that descend from it.
      class Named < ::Thread
        # @return [Fiber, Thread] whose object_id or hash becomes the name
        def self.current
          Compat.scheduler ? ::Fiber.current : ::Thread.current
        end
      end

      class << self
        # Installs it once in each class of a library that is loaded. These classes are loaded when
        # they are first asked for, which may be in a request.
        # @return [void]
        def apply
          give(::Rack::Cache::EntityStore::Disk) if defined?(::Rack::Cache::EntityStore)
          give(::Moneta::Adapters::File) if defined?(::Moneta::Adapters)
          give(::LatexToPdf) if defined?(::LatexToPdf)
        end

        # @param owner [Class] whose methods see it
        # @return [void]
        def give(owner)
          owner.const_set(:Thread, Named) unless owner.const_defined?(:Thread, false)
        end
      end
    end
  end
end
