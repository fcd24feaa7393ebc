# frozen_string_literal: true

class SchedulerSoak
  # A thread beside the loops that ends the process when a wait does not end, or the loops do not
  # when all is over. It also keeps the figures of memory and descriptors.
  class Watch
    STUCK_S = Integer(ENV.fetch("NB_SOAK_STUCK_S", "60"), 10)
    EVERY_S = 0.25
    # Of the whole: caches, pools and the heap have their size then.
    WARM = 0.2
    # Collections and malloc's arenas move this much and no more.
    GROWTH_KB = 64 * 1024
    GROWTH_DESCRIPTORS = 4
    # Beside each thread's own: an enumerator that was not read to its end, which something on a
    # stack looks like a reference to.
    GROWTH_FIBERS = 4
    STUCK = 3

    def initialize(books)
      @books = books
      @most = 0
      @stopped = false
    end

    def start
      @first = sample
      @thread = Thread.new do
        until @stopped
          sleep(EVERY_S)
          look
        end
      end
    end

    # @return [Hash] figures
    def stop
      @stopped = true
      @thread.join
      3.times { GC.start }
      @last = sample
      {
        memory_kb: { warm: @warm && @warm[:memory], most: @most, end: @last[:memory] },
        descriptors: { first: @first[:descriptors], end: @last[:descriptors] },
        fibers_left: @last[:fibers]
      }
    end

    def failures
      failures = []
      if @last[:descriptors] > @first[:descriptors] + GROWTH_DESCRIPTORS
        failures << "#{@last[:descriptors]} descriptors, at first #{@first[:descriptors]}"
      end
      if @warm && @most > @warm[:memory] + GROWTH_KB
        failures << "#{@most} KB of memory, warm #{@warm[:memory]}"
      end
      if @last[:fibers] > Thread.list.size + GROWTH_FIBERS
        failures << "#{@last[:fibers]} fibers are left"
      end
      failures
    end

    private

    def look
      memory = memory_kb
      @warm ||= { memory: [memory, @most].max } if @books.done >= @books.target * WARM
      @most = [@most, memory].max
      stuck = @books.doing.select { |doing| @books.clock - doing.since > STUCK_S }
      @over_since ||= @books.clock if @books.over?
      give_up(stuck) if stuck.any? || (@over_since && @books.clock - @over_since > STUCK_S)
    end

    def give_up(stuck)
      warn "#{stuck.size} waits have not ended in #{STUCK_S} s: #{stuck.map(&:kind).tally}; " \
           "#{@books.done} waits have", *@books.account
      stuck.first(3).each { |doing| warn doing.kind, doing.fiber.backtrace&.first(10) }
      Thread.list.each { |thread| warn thread.inspect, thread.backtrace&.first(10) }
      Process.exit!(STUCK)
    end

    def sample
      {
        memory: memory_kb,
        descriptors: Dir.children("/proc/self/fd").size,
        fibers: ObjectSpace.each_object(Fiber).count(&:alive?)
      }
    end

    def memory_kb = File.read("/proc/self/status")[/VmRSS:\s*(\d+)/, 1].to_i
  end
end
