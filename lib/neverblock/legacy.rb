# frozen_string_literal: true

# Names of NeverBlock 0.1 and of its unreleased 1.0 that are still of use, with today's Ruby and
# this gem. docs/since-0.1.md lists what was left out, and what to use in its place.

require "io/wait"
require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/legacy/fiber_locals"
require "neverblock/legacy/fiber"

module NeverBlock
  # The root of the gem's errors. This is its name in 0.1.
  NBError = Error

  module DB
    # The connection classes of 0.1 raise an error that names their replacement.
    def self.const_missing(name)
      return super unless name.match?(/Fibered|Pooled/)

      raise NameError.new("NB::DB::#{name} is not part of NeverBlock 2: " \
                          "use the ordinary drivers, whose waits park fibers by themselves " \
                          "(docs/since-0.1.md)", name, receiver: self)
    end
  end

  class << self
    # @return [Boolean] whether this thread has an event loop (NB.run, a request, another
    #   scheduler); true also inside NB.neverblock(false)
    def event_loop_available?
      !Fiber.scheduler.nil?
    end

    # The event loop of this thread, which was EventMachine's reactor in 0.1. It has the methods of
    # Fiber::Scheduler.
    # @return [Scheduler, Object, nil] nil where there is none
    def reactor
      Fiber.scheduler
    end

    # Waits until the IO is ready. Parks the fiber; outside a loop it blocks the thread.
    # @param mode [:read, :write]
    # @param io [IO]
    # @return [nil]
    # @raise [ArgumentError] for another mode
    # @raise [IOError] when the IO is closed meanwhile
    def wait(mode, io)
      case mode
      when :read then io.wait_readable
      when :write then io.wait_writable
      else raise ArgumentError, "NB.wait waits for :read or :write, not #{mode.inspect}",
                 Backtrace.of_caller
      end
      nil
    end

    # Parks the fiber; outside a loop it blocks the thread. Returns at once for 0 and less.
    # @param seconds [Numeric, nil] nil: until something else wakes or ends the fiber
    # @return [nil]
    # @raise [TypeError] when `seconds` is no number
    def sleep(seconds)
      return Kernel.sleep && nil if seconds.nil?
      unless seconds.is_a?(Numeric) && seconds.real?
        raise TypeError, "NB.sleep takes seconds as a number, got #{seconds.inspect}",
              Backtrace.of_caller
      end

      Kernel.sleep(seconds) if seconds.positive?
      nil
    end

    # Calls a method on a worker thread while the fiber parks: NB.offload with a receiver.
    # @param receiver [Object] in 1.0 a File
    # @param action [Symbol] a public method
    # @param arguments [Array]
    # @return what the method returns
    def defer(receiver, action, arguments = [])
      offload { receiver.public_send(action, *arguments) }
    end

    # NB::Fiber is no constant: `Fiber` would then mean it in all of this module.
    def const_missing(name)
      name == :Fiber ? Legacy::Fiber : super
    end
  end
end
