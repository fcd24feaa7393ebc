# frozen_string_literal: true

# What the application of the race hunt counts, so that what has begun is known to have ended once, and what it says of itself when it hangs.

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

    # Without a wait, in which a request could be cancelled: each thread has its own, and no slice ends in between.
    def count(name, by = 1)
      NeverBlock.uninterrupted { (@counts[Thread.current] ||= Hash.new(0))[name] += by }
    end

    # Something that is seen by the server alone, and must not be.
    def fault(text)
      @faults << text if @faults.size < FAULTS_MAX
    end

    # Counts the beginning of the block, and its end however it is left: what has an `ensure` that ran twice or never has ended more or less often than it has begun.
    def within(name)
      count(:"#{name} begun")
      yield
    ensure
      count(:"#{name} ended")
    end

    # @return [Hash]
    def told
      schedulers = Work::HEAP.synchronize { ObjectSpace.each_object(NeverBlock::Scheduler).to_a }
      figures = %i[preemptions preemptions_missed lock_handoffs].to_h { |name| [name, schedulers.sum(&name)] }
      { counts: sums, faults: @faults.dup, **figures, gc: GC.count }
    end

    private

    def sums
      @counts.values.each_with_object(Hash.new(0)) { |counts, sums| counts.to_a.each { |name, count| sums[name] += count } }
    end
  end

  # Tells who connects where all threads and fibers are. A thread of its own: it answers also when no executor does.
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
      ObjectSpace.each_object(Fiber) { |fiber| say(fiber.inspect, fiber.backtrace) if fiber.alive? && fiber.backtrace&.any? }
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

  # Now and then, for a moment, each allocation collects; between these moments the heap is compacted where Ruby can.
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
          GC.compact if RUBY_VERSION >= "3.3" && GC.respond_to?(:compact) # before, a WeakMap does not survive it (Bug #19529)
          books.count(:"windows of GC.stress")
        end
      end
    end
  end
end
