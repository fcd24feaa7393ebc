# frozen_string_literal: true

# Our loop in the place of an IO::Event::Selector: what Async::Scheduler asks of one (io-event,
# lib/io/event/selector/select.rb is the reference). A fiber that waits in #transfer goes on when it
# is pushed, resumed, or transferred to by a timer of Async's.

module NeverBlock
  class Scheduler
    class AsyncSelector
      # @return [Float] seconds of the last #select in which the thread had nothing to do
      attr_reader :idle_duration

      # @return [Fiber] the one that runs the loop
      attr_reader :loop

      # @param scheduler [Scheduler]
      def initialize(scheduler)
        @scheduler = scheduler
        @pushed = []
        @idle_duration = 0.0
        @ends = true
      end

      # One turn of the loop.
      # @param duration [Numeric, nil] the longest sleep in seconds
      # @return [Integer]
      def select(duration = nil)
        @loop = Fiber.current
        @pushed.size.times { go_on(@pushed.shift) }
        @idle_duration = @scheduler.turn(duration && [duration, 0].max, @ends)
        0
      end

      # From now on a turn sleeps also when no request will come any more.
      # @return [void]
      def end
        @ends = false
      end

      # @return [Fiber] the first that the block's code resumes, which has not begun
      def first_fiber
        @first = true
        yield
        @first
      ensure
        @first = nil
      end

      def transfer
        @scheduler.transfer
      end

      # The fiber goes on now, and the caller when that one waits.
      # @param item [Fiber, #transfer]
      def resume(item, *arguments)
        return @first = item if @first == true

        item.is_a?(Fiber) ? @scheduler.go_to(item, *arguments) : @scheduler.relay(item, *arguments)
      end

      def yield
        @scheduler.yield
        nil
      end

      # @param item [Fiber, #transfer] goes on in a later turn. Any thread
      def push(item)
        return if item.is_a?(Fiber) && @scheduler.wake(item)

        @pushed << item
        @scheduler.rouse
      end

      # Raises in the fiber's wait. The caller goes on when that one waits again, or has ended.
      def raise(fiber, *arguments, **options)
        arguments = [with_cause(*arguments, **options)] unless options.empty?
        return if @scheduler.raise_to(fiber, *arguments) != nil

        # A task of a request that another executor has got ends at once when it begins.
        return @scheduler.go_to(fiber) if fiber.inspect.end_with?("(created)>")

        RAISE.bind_call(fiber, *arguments)
      end

      def ready?
        !@pushed.empty?
      end

      def wakeup
        @scheduler.rouse
        true
      end

      def close; end

      def io_wait(_fiber, io, events)
        @scheduler.io_wait(io, events, nil)
      end

      def io_read(_fiber, io, buffer, length, offset = 0)
        @scheduler.io_read(io, buffer, length, offset)
      end

      def io_write(_fiber, io, buffer, length, offset = 0)
        @scheduler.io_write(io, buffer, length, offset)
      end

      def process_wait(_fiber, pid, flags)
        @scheduler.process_wait(pid, flags)
      end

      # Ruby's own, without compat/fiber_raise.
      RAISE = Compat::FiberRaise::RUBYS
      private_constant :RAISE

      private

      def go_on(item)
        return unless item.alive?

        item.is_a?(Fiber) ? @scheduler.go_to(item) : item.transfer
      end

      def with_cause(*arguments, **options)
        Kernel.raise(*arguments, **options)
      rescue Exception => e # rubocop:disable Lint/RescueException -- it is raised in the fiber
        e.set_backtrace(nil)
        e
      end
    end
  end
end
