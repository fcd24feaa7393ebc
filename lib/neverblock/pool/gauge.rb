# frozen_string_literal: true

# What a pool tells those who look at the server: its size, how many of its places are in use, and
# how many wait for one (docs/guides/pools.md). It is written in C
# (ext/neverblock/binding/executor/pools.c); this file has its documentation. Nothing is kept where
# the server has no admin address. No method parks.

require "neverblock/boot/native"

module NeverBlock
  module Pool
    class Gauge
      # @!method initialize(kind, name, size)
      #   @param kind [Symbol] :active_record, :sequel, :connection_pool, :neverblock, :fibers or
      #     :bulkhead
      #   @param name [String] of more than 63 bytes the end is kept
      #   @param size [Integer, nil] most places; nil: no limit

      # @!method name
      #   @return [String] as it is shown: pools of one name are told apart by a number

      # @!method size=(number)
      #   @param number [Integer, nil] most places; nil: no limit

      # @!method tell(event, in_use, waiting)
      #   @param event [Symbol] what has happened:
      #     :acquired, somebody has a place now, at once or after a wait;
      #     :waits, somebody has begun to wait, once however often it sleeps;
      #     :held_back, requests wait elsewhere that would wait here, so that there are more;
      #     :changed, anything else
      #   @param in_use [Integer] places that are in use now
      #   @param waiting [Integer] how many wait now

      # @!method next_wait
      #   The next wait of the running fiber is for a place of this pool (Scheduler.next_wait).

      # @!method retire
      #   The pool is not used any more. It is shown again when it is.

      # @param made [Proc, Thread::Backtrace::Location, nil] a block that was given when a pool was
      #   made, or the place
      # @return [String] "app/models/shop.rb:12": a pool without a name is known by where it was
      #   made
      def self.place(made)
        path, line = if made.respond_to?(:source_location)
                       made.source_location
                     elsif made
                       [made.path, made.lineno]
                     end
        path ? "#{short(path)}:#{line}" : "unknown"
      end

      def self.short(path)
        inside = path.rindex("/gems/")
        inside ? path[(inside + 6)..] : path.delete_prefix("#{Dir.pwd}/")
      end
      private_class_method :short
    end
  end
end
