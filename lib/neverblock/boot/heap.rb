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

      # Makes what is loaded ready for being shared with the children of this process (Process.warmup is Ruby 3.3's).
      # @return [void]
      def share
        ::Process.respond_to?(:warmup) ? ::Process.warmup : warm
      end
    end
  end
end
