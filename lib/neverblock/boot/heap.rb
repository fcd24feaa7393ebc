# frozen_string_literal: true

# Prepares Ruby's heap before and after the application is loaded. Room for requests is made with
# their fibers (neverblock/scheduler/heap.rb).

require "neverblock/boot/native"
require "neverblock/scheduler/heap"

module NeverBlock
  module Boot
    module Heap
      # Rounds before the application is loaded. Each raises the limit by a fifth, from 16 MB to at
      # most 128 MB.
      ROUNDS = 8
      # Rounds after the application is loaded. Each makes two collections. After four collections
      # Ruby counts an object as old, and minor collections no longer visit it.
      ROUNDS_LOADED = 3
      # Above this number of objects, early rounds cost as much as they save.
      OBJECTS_MAX = 120_000

      module_function

      # Makes Ruby raise its limit of memory for old objects (RUBY_GC_OLDMALLOC_LIMIT), at which it
      # runs a major collection. Ruby raises the limit itself in each such collection, but beside a
      # loaded application each of them stops all requests for tens of milliseconds. To be called
      # before the application is loaded.
      # @return [void]
      def prepare
        return if ENV.key?("RUBY_GC_OLDMALLOC_LIMIT") || GC.stat(:heap_live_slots) > OBJECTS_MAX

        collect(ROUNDS)
      end

      # Makes the loaded objects old, and raises the same limit further. Takes some tens of
      # milliseconds; to be called before serving.
      # @return [void]
      def warm
        collect(ROUNDS_LOADED)
      end

      # Prepares the loaded objects for sharing with forked processes (Process.warmup, Ruby 3.3).
      # @return [void]
      def share
        ::Process.respond_to?(:warmup) ? ::Process.warmup : warm
      end

      # Each round makes a minor collection, which finds the limit passed and raises it, and the
      # major collection it asks for. A limit set by the environment stays. Not every collector of
      # Ruby 3.4 has this limit.
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
