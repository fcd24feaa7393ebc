# frozen_string_literal: true

# Names of NeverBlock 0.1 and of its unreleased 1.0 that still make sense, on top of what Ruby and this gem have today. What has been left out, and what to
# use instead: docs/since-0.1.md.

require "io/wait"
require "neverblock/errors"
require "neverblock/legacy/fiber_locals"
require "neverblock/legacy/fiber"

module NeverBlock
  # The root of the gem's errors, as 0.1 called it.
  NBError = Error

  module DB
    # The connection classes of 0.1 say what to use in their place.
    def self.const_missing(name)
      return super unless name.match?(/Fibered|Pooled/)

      raise NameError.new("NB::DB::#{name} is not part of NeverBlock 2: use the ordinary drivers, whose waits park fibers by themselves (docs/since-0.1.md)", name, receiver: self)
    end
  end

  class << self
    # @return [Boolean] whether this thread has an event loop (NB.run, a request, another scheduler), also while NB.neverblock(false) keeps a fiber from using it
    def event_loop_available?
      !Fiber.scheduler.nil?
    end

    # The event loop of this thread, which was a reactor. Its methods are those of Fiber::Scheduler.
    # @return [Scheduler, Object, nil] nil where there is none
    def reactor
      Fiber.scheduler
    end

    # Waits until the IO is ready: parks the fiber, outside a loop the thread.
    # @param mode [:read, :write]
    # @param io [IO]
    # @return [nil]
    # @raise [IOError] when the IO is closed meanwhile
    def wait(mode, io)
      case mode
      when :read then io.wait_readable
      when :write then io.wait_writable
      else raise ArgumentError, "NB.wait waits for :read or :write, not #{mode.inspect}"
      end
      nil
    end

    # Parks the fiber, outside a loop the thread. Zero and less return at once.
    # @param seconds [Numeric, nil] nil: until something else wakes or ends the fiber
    # @return [nil]
    def sleep(seconds)
      return Kernel.sleep && nil if seconds.nil?

      Kernel.sleep(seconds) if seconds.positive?
      nil
    end

    # Calls a method that would block on a worker thread while the fiber parks: NB.offload with a receiver.
    # @param receiver [Object] 1.0 took a File
    # @param action [Symbol] a public method
    # @param arguments [Array]
    # @return what the method returns
    def defer(receiver, action, arguments = [])
      offload { receiver.public_send(action, *arguments) }
    end

    # NB::Fiber is no constant of its own: it would be what `Fiber` means to everything inside this module.
    def const_missing(name)
      name == :Fiber ? Legacy::Fiber : super
    end
  end
end
