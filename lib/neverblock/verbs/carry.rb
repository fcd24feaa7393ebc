# frozen_string_literal: true

# NB.carry: what a library keeps for "the current work", such as the current span of a trace, goes
# to the fibers and threads that work for a fiber: tasks of NB.all, blocks of a FiberPool and of
# Fiber.schedule, NB.run, NB.offload. Without it they begin with nothing, as Thread.new does.

require "neverblock/errors"
require "neverblock/errors/backtrace"

module NeverBlock
  # Registers what is carried, once for the process. The block is called in the fiber that starts
  # the work. It returns nil when there is nothing to carry. Otherwise it returns a callable, which
  # is called where the work runs, with a block that does the work.
  #
  #   NB.carry(:tenant) do
  #     tenant = Tenant.current
  #     ->(&work) { Tenant.with(tenant, &work) }
  #   end
  #
  # OpenTelemetry's context is carried without it (compat/opentelemetry.rb).
  # @param name [Symbol] a second block of the same name replaces the first
  # @return [void]
  # @raise [ArgumentError] without a block, or when the name is no Symbol
  def self.carry(name, &capture)
    raise ArgumentError, "NB.carry needs a block", Backtrace.of_caller unless capture
    unless name.is_a?(Symbol)
      raise ArgumentError, "NB.carry takes a name as a Symbol, got #{name.inspect}",
            Backtrace.of_caller
    end

    Carry.add(name, capture)
  end

  module Carry
    # A fiber-local of a fiber that makes another, which begins with nothing.
    BARE = :__neverblock_carry_bare
    private_constant :BARE

    @lock = Thread::Mutex.new
    @captures = {}.freeze

    class << self
      # Schedulers look for carriers only once there is one.
      def add(name, capture)
        @lock.synchronize do
          @captures = @captures.merge(name => capture).freeze
          Scheduler.prepend(Scheduled) unless Scheduler.include?(Scheduled)
        end
        nil
      end

      # @param work [#call]
      # @return [#call] the work, with what the calling fiber has now around it
      def around(work)
        captures = @captures
        captures.empty? ? work : captures.inject(work) { |inner, entry| wrap(inner, *entry) }
      end

      # Fiber.schedule, and the fiber begins with nothing.
      # @return [Fiber]
      def schedule_bare(&block)
        Thread.current[BARE] = true unless @captures.empty?
        Fiber.schedule(&block)
      ensure
        Thread.current[BARE] = nil
      end

      # @return [#call] the work of a fiber that Fiber.schedule makes
      def scheduled(work)
        Thread.current[BARE] ? work : around(work)
      end

      private

      def wrap(work, name, capture)
        carrier = capture.call or return work

        proc do
          called = value = nil
          carrier.call do
            called = true
            value = work.call
          end
          called ? value : raise(Error, "the callable of NB.carry(#{name.inspect}) has not " \
                                        "called its block")
        end
      end
    end

    # Prepended to Scheduler. Hook of Fiber.schedule.
    module Scheduled
      def fiber(**options, &block)
        super(**options, &Carry.scheduled(block))
      end
    end
  end
end
