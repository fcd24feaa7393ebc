# frozen_string_literal: true

# NB.run { }: an event loop on this thread for as long as the block, and all it has spawned, take. It replaces EM.run of NeverBlock 0.1.
#
#   NB.run do
#     pool = NB::FiberPool.new(20)
#     20.times { |i| pool.spawn { puts Net::HTTP.get(URI("http://localhost:9292/#{i}")) } }
#   end

require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/verbs/outcome"
require "neverblock/scheduler"

module NeverBlock
  # Calls the block in a fiber on an event loop of this thread, and returns when the block and every fiber it has spawned (Fiber.schedule, pools) have ended.
  # Keeps the calling thread until then; inside, waits park fibers. Where the thread has a Fiber::Scheduler already (inside another NB.run, in a request,
  # in Async) it only calls the block, and does not wait for what that spawns.
  #
  # What the block raises leaves NB.run, and so do Interrupt, Thread#raise and `exit` in any fiber; so does a `throw` to a catch outside, and `break` with its
  # value (`return` cannot: Ruby raises LocalJumpError). Fibers that still wait then are ended where they wait by {Run::Stopped}, so that their `ensure`
  # runs; those that have not ended {Run::STOP_SECONDS} later are left where they are, with a line on $stderr.
  #
  # A child that is forked in the block, without a block for `fork`, ends where the fiber ends: Ruby makes that the first fiber of the child.
  #
  # Outgoing connections by name: the first scheduler of the process turns Socket.tcp_fast_fallback off (Ruby 3.4, see compat/tcp_fast_fallback.rb).
  # @return what the block returns
  # @raise [Error] where EventMachine's reactor runs on this thread; when the block's fiber has left the loop (Fiber#transfer)
  def self.run(&block)
    raise ArgumentError, "NB.run needs a block" unless block
    return yield if Fiber.scheduler

    Run.new(block).call
  end

  class Run
    # How long fibers may take to end, in seconds, once the loop has been left: what a connection's closing handshake may need, and no more.
    STOP_SECONDS = 5

    # Longest time the loop is left to them between two looks at who is left, in seconds.
    STOP_TURN_SECONDS = 0.05

    # Ends the fibers that are left when NB.run is left early. Not to be rescued: it is no StandardError.
    class Stopped < Exception # rubocop:disable Lint/InheritException -- `rescue => e; retry` would outlive the loop
      include FromOutside
    end

    # Tells the loop that the block has failed.
    class Left < Exception; end # rubocop:disable Lint/InheritException -- only what is no StandardError leaves the loop
    private_constant :Left

    # @return [Boolean] whether an EventMachine reactor runs on this thread
    def self.event_machine?
      defined?(::EventMachine.reactor_thread?) && ::EventMachine.reactor_running? && ::EventMachine.reactor_thread? ? true : false
    end

    # @param block [Proc]
    def initialize(block)
      @block = block
    end

    # @return what the block returns
    def call
      refuse_event_machine
      loop_until_all_have_ended
      raise Error, lost unless @over

      @outcome&.get(breaks: true, joins: false)
    end

    private

    def refuse_event_machine
      return unless Run.event_machine?

      raise Error, "NB.run was called inside EventMachine's reactor, and a thread has one loop: put NB.run { } in the place of EM.run { }, " \
                   "or give it a thread of its own, Thread.new { NB.run { } }"
    end

    def loop_until_all_have_ended
      @scheduler = Scheduler.new
      Fiber.set_scheduler(@scheduler)
      begin
        Fiber.schedule { call_block }
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
      raise error if error && (error.is_a?(Stopped) || !here?) # without `here?` the loop is the parent's

      @outcome = outcome
      raise Left if error
    ensure
      @over = true
    end

    def leave(ended)
      ended ||= stop
    ensure
      unset(ended) if here?
    end

    # @return [Boolean] whether this is not a forked child, in which there is no loop
    def here?
      Fiber.scheduler.equal?(@scheduler)
    end

    # Unsetting a scheduler runs it to its end. Where that would never come, it forgets its fibers with itself.
    def unset(ended)
      @scheduler.define_singleton_method(:scheduler_close) { nil } unless ended
      Fiber.set_scheduler(nil)
    end

    # @return [Boolean] whether all have ended
    def stop
      deadline = Deadline.now + STOP_SECONDS
      loop do
        told, missed = stop_waiting
        return true if told.empty? && missed.zero?

        left = wait_for_end(told, deadline)
        return warn_of([left, missed, 1].max) if left.positive? || Deadline.now > deadline
      end
    end

    # Each is told once: what it waits for in an `ensure` is its own affair.
    # @return [Array<Fiber>, Integer] those that have been told; how many could not be, having to use first what they were woken for
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

    # @return [Integer] fibers that were told and have not ended
    def wait_for_end(told, deadline)
      pause = 0
      loop do
        turn(pause)
        left = told.count(&:alive?)
        return left if left.zero? || Deadline.now > deadline

        pause = [(pause * 2) + 0.001, STOP_TURN_SECONDS].min
      end
    end

    # Each fiber that is ended leaves the loop with what ended it; the loop was left for what came first.
    def turn(seconds)
      @scheduler.kernel_sleep(seconds)
    rescue Stopped, Left
      retry
    end

    def warn_of(left)
      warn("NB.run: #{left} fiber#{"s" if left > 1} had not ended #{STOP_SECONDS} s after the loop was left, and will not go on")
      false
    end

    def lost
      "the fiber of NB.run's block stopped where nothing goes on with it: transferring to a fiber of the loop (Fiber#transfer) leaves the caller behind; " \
        "end fibers by raising in them (Fiber#raise)"
    end
  end
end
