# frozen_string_literal: true

# Ruby's heap, made ready once the application is loaded. Room for requests comes with their fibers (neverblock/heap.rb).

module NeverBlock
  module Boot
    module Heap
      # Collections after which Ruby counts an object as old and stops walking it in small collections.
      GENERATIONS = 4

      module_function

      # Makes what is loaded old. Takes some tens of milliseconds; call it before serving.
      # @return [void]
      def warm
        GENERATIONS.times { GC.start }
      end
    end
  end
end
