# frozen_string_literal: true

# Counters of the race hunt's application. They show that all that has begun has ended once. A
# witness prints the state of the process when it hangs.

require "json"
require "socket"
require_relative "work"

module StallsHunt
  # Requests, bodies and blocks that have begun and ended, and what was seen that must not be.
  class Books
    FAULTS_MAX = 20

    def initialize
      @counts = {}.compare_by_identity
      @faults = []
    end

    # It does not wait, so it is no place for a cancel. Each thread has its own counters, and no
    # time slice ends in between.
    def count(name, by = 1)
      NeverBlock.uninterrupted { (@counts[Thread.current] ||= Hash.new(0))[name] += by }
    end

    # Something that is seen by the server alone, and must not be.
    def fault(text)
      @faults << text if @faults.size < FAULTS_MAX
    end

    # Counts the begin of the block, and its end however it is left. An `ensure` that runs twice or
    # never makes the two differ.
    def within(name)
      count(:"#{name} begun")
      yield
    ensure
      count(:"#{name} ended")
    end

    # @return [Hash]
    def told
      schedulers = Work::HEAP.synchronize { ObjectSpace.each_object(NeverBlock::Scheduler).to_a }
      figures = %i[preemptions preemptions_missed lock_handoffs].to_h do |name|
        [name, schedulers.sum(&name)]
      end
      { counts: sums, faults: @faults.dup, **figures, gc: GC.count }
    end

    private

    def sums
      @counts.values.each_with_object(Hash.new(0)) do |counts, sums|
        counts.to_a.each { |name, count| sums[name] += count }
      end
    end
  end

  # Tells each client that connects where all threads and fibers are. It has a thread of its own, so
  # it answers even when no executor does.
  class Witness
    # @param path [String] of its UNIX socket
    def self.start(path)
      server = UNIXServer.new(path)
      Thread.new do
        Thread.current.name = "hunt witness"
        loop { server.accept.then { |client| new(client).tell } }
      end
    end

    def initialize(client)
      @client = client
    end

    def tell
      Thread.list.each { |thread| say(thread.inspect, thread.backtrace) }
      ObjectSpace.each_object(Fiber) do |fiber|
        say(fiber.inspect, fiber.backtrace) if fiber.alive? && fiber.backtrace&.any?
      end
    rescue SystemCallError, FiberError => e
      @client.puts(e.inspect) rescue nil # rubocop:disable Style/RescueModifier -- it has gone
    ensure
      @client.close
    end

    private

    def say(title, lines)
      @client.puts(title, lines&.first(40)&.map { |line| "    #{line}" })
    end
  end

  # Now and then, for a moment, each allocation collects. Between these moments the heap is
  # compacted where Ruby can.
  class Stress
    PAUSE_S = 5

    # @param window_s [Float] how long it lasts
    # @param books [Books]
    def self.start(window_s, books)
      Thread.new do
        Thread.current.name = "hunt stress"
        loop do
          sleep(PAUSE_S)
          GC.stress = true
          sleep(window_s)
          GC.stress = false
          # Before 3.3 a WeakMap does not survive compaction (Bug #19529).
          GC.compact if RUBY_VERSION >= "3.3" && GC.respond_to?(:compact)
          books.count(:"windows of GC.stress")
        end
      end
    end
  end
end
