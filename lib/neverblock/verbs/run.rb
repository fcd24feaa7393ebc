# frozen_string_literal: true

# NB.run { }: an event loop on this thread until the block, and all it has spawned, have ended. It
# replaces EM.run of NeverBlock 0.1.
#
#   NB.run do
#     pool = NB::FiberPool.new(20)
#     20.times { |i| pool.spawn { puts Net::HTTP.get(URI("http://localhost:9292/#{i}")) } }
#   end

require "neverblock/verbs/arguments"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/verbs/carry"
require "neverblock/verbs/outcome"
require "neverblock/scheduler"

module NeverBlock
  # Calls the block in a fiber on an event loop of this thread. Returns when the block and every
  # fiber that it has spawned (Fiber.schedule, pools) have ended. It blocks the calling thread until
  # then; inside, waits park fibers. Where the thread has a Fiber::Scheduler already (in another
  # NB.run, a request, Async) it only calls the block, and does not wait for what that spawns.
  #
  # What the block raises leaves NB.run. So do Interrupt, Thread#raise and `exit` in any fiber, a
  # `throw` to a catch outside, and `break` with its value. `return` raises LocalJumpError.
  # {Run::Stopped} is then raised in the fibers that still wait, so that their `ensure` runs. Fibers
  # that have not ended {Run::STOP_SECONDS} later never go on, and a line on $stderr says so.
  #
  # A child that is forked in the block by `fork` without a block ends where the fiber ends: Ruby
  # makes that fiber the first one of the child.
  #
  # The first scheduler of the process turns Socket.tcp_fast_fallback off (Ruby 3.4 and later, see
  # compat/tcp_fast_fallback.rb).
  # @return what the block returns
  # @raise [Error] where EventMachine's reactor runs on this thread
  # @raise [Error] when the block's fiber has left the loop (Fiber#transfer)
  # @raise [ArgumentError] without a block, or with an argument
  def self.run(*given, &block)
    Arguments.refuse("NB.run", given, block) unless block && given.empty?
    return yield if Fiber.scheduler

    Run.new(block).call
  end

  class Run
    # Seconds that fibers have to end once the loop was left. The closing handshake of a connection
    # may need as much.
    STOP_SECONDS = 5

    # Longest time of a turn of the loop meanwhile, in seconds.
    STOP_TURN_SECONDS = 0.05

    # Raised in the fibers that are left when NB.run is left early. It is no StandardError, so that
    # `rescue => e; retry` does not outlive the loop.
    class Stopped < Exception # rubocop:disable Lint/InheritException -- see above
      include FromOutside
    end

    # Tells the loop that the block has failed. Only what is no StandardError leaves the loop.
    class Left < Exception; end # rubocop:disable Lint/InheritException -- see above
    private_constant :Left

    # @return [Boolean] whether an EventMachine reactor runs on this thread
    def self.event_machine?
      return false unless defined?(::EventMachine.reactor_thread?)

      ::EventMachine.reactor_running? && ::EventMachine.reactor_thread? ? true : false
    end

    # @param block [Proc]
    def initialize(block)
      @block = block
    end

    # @return what the block returns
    def call
      refuse_event_machine
      begin
        loop_until_all_have_ended
      rescue Error, FromOutside, SignalException => e # raised where the loop waits
        raise Backtrace.trim(e)
      end
      raise Error, lost, Backtrace.of_caller unless @over

      @outcome&.get(breaks: true)
    end

    private

    def refuse_event_machine
      return unless Run.event_machine?

      raise Error, "NB.run was called inside EventMachine's reactor, and a thread has one loop: " \
                   "put NB.run { } in the place of EM.run { }, " \
                   "or give it a thread of its own, Thread.new { NB.run { } }",
            Backtrace.of_caller
    end

    def loop_until_all_have_ended
      @scheduler = Scheduler.new
      Fiber.set_scheduler(@scheduler)
      begin
        @block = Carry.around(@block) # what is carried may be known since there is a scheduler
        Carry.schedule_bare { call_block }
        @scheduler.run
        ended = true
      rescue Left
        nil
      ensure
        leave(ended)
      end
    end

    def call_block
      outcome = Outcome.of(&@block)
      error = outcome.error
      # In a forked child, where own_loop? is false, the loop is the parent's.
      raise error if error && (error.is_a?(Stopped) || !own_loop?)

      @outcome = outcome
      raise Left if error
    ensure
      @over = true
    end

    def leave(ended)
      ended ||= stop
    ensure
      unset(ended) if own_loop?
    end

    # @return [Boolean] false in a forked child, where no loop runs
    def own_loop?
      Fiber.scheduler.equal?(@scheduler)
    end

    # Unsetting a scheduler runs it to its end. Where fibers would never end, that is left out, and
    # the scheduler is forgotten together with them.
    def unset(ended)
      @scheduler.define_singleton_method(:scheduler_close) { nil } unless ended
      Fiber.set_scheduler(nil)
    end

    # @return [Boolean] whether all fibers have ended
    def stop
      deadline = Deadline.now + STOP_SECONDS
      loop do
        told, missed = stop_waiting
        return true if told.empty? && missed.zero?

        left = wait_for_end(told, deadline)
        return warn_of([left, missed, 1].max) if left.positive? || Deadline.now > deadline
      end
    end

    # Each fiber gets it once, so that its `ensure` may wait.
    # @return [Array<Fiber>, Integer] the fibers that it was raised in, and how many it could not be
    #   raised in yet: they have a wait's result to return first
    def stop_waiting
      told = []
      missed = 0
      ObjectSpace.each_object(::Fiber) do |fiber|
        case @scheduler.raise_in(fiber, Stopped, "the event loop was left")
        when true then told << fiber
        when false then missed += 1
        end
      end
      [told, missed]
    end

    # @return [Integer] how many of the told fibers have not ended
    def wait_for_end(told, deadline)
      pause = 0
      loop do
        turn(pause)
        left = told.count(&:alive?)
        return left if left.zero? || Deadline.now > deadline

        pause = [(pause * 2) + 0.001, STOP_TURN_SECONDS].min
      end
    end

    # A fiber that ends leaves the loop with the exception that ended it. Only the first such
    # exception counts.
    def turn(seconds)
      @scheduler.kernel_sleep(seconds)
    rescue Stopped, Left
      retry
    end

    def warn_of(left)
      warn("NB.run: #{left} fiber#{"s" if left > 1} had not ended #{STOP_SECONDS} s " \
           "after the loop was left, and will not go on")
      false
    end

    def lost
      "the fiber of NB.run's block stopped where nothing goes on with it: " \
        "transferring to a fiber of the loop (Fiber#transfer) leaves the caller behind; " \
        "end fibers by raising in them (Fiber#raise)"
    end
  end
end
