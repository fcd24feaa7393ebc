# frozen_string_literal: true

class SchedulerSoak
  # What was begun, ended, pushed, popped, raised and received, by the fibers of all loops. Nothing
  # here waits or lets another thread in between.
  class Books
    Doing = Struct.new(:kind, :since, :fiber)

    attr_reader :done, :kinds, :target

    def initialize(target)
      @target = target
      @done = @token = @cancel = @pushed = @popped = 0
      @failures = []
      @kinds = Hash.new(0)
      @doing = {}.compare_by_identity
      @told = {}
      @had = {}
    end

    def over? = @done >= @target || @failures.size > 20
    def had = @had.size
    def doing = @doing.values
    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def fail(message)
      @failures << message
    end

    def expect(what, truth)
      fail(what) unless truth
    end

    # Schedules a fiber; what leaves it is a failure.
    def fiber
      Fiber.schedule do
        yield
      rescue StandardError => e
        fail("in a fiber: #{e.full_message(highlight: false).lines.first(6).join}")
      end
    end

    # Books one wait of the fiber: from here to the end of the block, however it ends.
    def wait(kind)
      @doing[Fiber.current] = Doing.new(kind, clock, Fiber.current)
      yield
    ensure
      @doing.delete(Fiber.current)
      @kinds[kind] += 1
      @done += 1
    end

    # A number nobody else has, entered as pushed.
    def new_token
      @pushed += @token += 1
      @token
    end

    def unpushed(token)
      @pushed -= token
    end

    def popped(token)
      token.is_a?(Integer) ? @popped += token : fail("a pop returned #{token.inspect}")
    end

    def new_cancel = Cancelled.new(@cancel += 1)

    def told(cancel)
      @told[cancel.id] = true
    end

    # An exception has arrived, perhaps on top of another.
    def received(error)
      while error
        fail("cancel #{error.id} came twice") if error.is_a?(Cancelled) && @had.key?(error.id)

        @had[error.id] = true if error.is_a?(Cancelled)
        error = error.cause
      end
    end

    # @return [Array<String>] what failed and what does not add up
    def account
      problems = @failures.tally.map { |message, times| "#{times} times: #{message}" }
      problems << "the sum pushed is #{@pushed}, popped #{@popped}" if @pushed != @popped
      problems << "still waiting: #{doing.map(&:kind).tally}" if doing.any?
      lost = @told.keys - @had.keys
      problems << "#{lost.size} exceptions were raised into fibers and did not arrive" if lost.any?
      problems
    end
  end
end
