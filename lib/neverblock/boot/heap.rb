# frozen_string_literal: true

# Ruby's heap, made ready before the application is loaded and once it is. Room for requests comes with their fibers (neverblock/scheduler/heap.rb).

require "neverblock/boot/native"
require "neverblock/scheduler/heap"

module NeverBlock
  module Boot
    module Heap
      # Rounds before the application is loaded, of 15 ms. Each makes the limit a fifth larger (16 MB at first, 128 at most); collections while it is loaded make it
      # 2 % smaller.
      ROUNDS = 8
      # Rounds beside the application, of 60 ms each beside one of 300,000 objects: six collections. After four Ruby counts an object as old, and walks it in small
      # ones no more.
      ROUNDS_LOADED = 3
      # Beside so many objects early rounds cost as much as they are to save.
      OBJECTS_MAX = 120_000

      module_function

      # Has Ruby raise the bytes that strings and the like which live for a while may take before it collects all objects for them. It does so itself, with each such
      # collection; but beside an application each of them takes 50 ms, in which everybody waits. To be called before the application is loaded.
      # @return [void]
      def prepare
        collect(ROUNDS) unless ENV.key?("RUBY_GC_OLDMALLOC_LIMIT") || GC.stat(:heap_live_slots) > OBJECTS_MAX
      end

      # Makes what is loaded old, and raises that limit further. Takes some tens of milliseconds; call it before serving.
      # @return [void]
      def warm
        collect(ROUNDS_LOADED)
      end

      # Makes what is loaded ready for being shared with the children of this process (Process.warmup is Ruby 3.3's).
      # @return [void]
      def share
        ::Process.respond_to?(:warmup) ? ::Process.warmup : warm
      end

      # Each round a small collection, which finds the limit passed and raises it, and the one of all objects that it has called for. What the environment says of the
      # limit stays; not every collector of Ruby 3.4 has one.
      def collect(rounds)
        rounds.times do
          limit = GC.stat[:oldmalloc_increase_bytes_limit]
          NeverBlock::Heap.count_malloc(limit + 1) if limit && !ENV.key?("RUBY_GC_OLDMALLOC_LIMIT")
          GC.start(full_mark: false)
          GC.start
        end
      end
      private_class_method :collect
    end
  end
end
