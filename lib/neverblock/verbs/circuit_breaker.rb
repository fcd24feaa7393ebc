# frozen_string_literal: true

# NB::CircuitBreaker: calls to a service that fails are not made for a while, so that callers fail
# at once and the service is left alone ("Release It!", Michael T. Nygard).
#
#   PAYMENTS = NB::CircuitBreaker.new("payments", failures: 5, within: 60, open_for: 30)
#   PAYMENTS.call { api.charge(order) }
#
#   closed     calls are made                    -> open, after `failures` failures `within` seconds
#   open       calls raise Open                  -> half_open, after `open_for` seconds
#   half_open  one call is made, the others raise Open -> closed if it succeeds, open if it fails;
#              another is made when it has told nothing for `open_for` seconds

require "neverblock/errors"
require "neverblock/verbs/arguments"
require "neverblock/verbs/deadline"

module NeverBlock
  # May be used from fibers of any loop and from plain threads. Each process has a state of its own;
  # the child of a fork begins with its parent's, without the call that is being tried there.
  class CircuitBreaker
    # The call was not made.
    class Open < Error
      # @return [Float] seconds until a call may be made again, at least 0.0
      attr_reader :retry_in

      def initialize(message, retry_in)
        @retry_in = retry_in
        super(message)
      end
    end

    # Ends from outside that say nothing of the service that was called.
    NOT_THE_SERVICE = [ClientGone, RequestCancelled, Cancelled].freeze
    KEYWORDS = %w[failures within open_for errors on_change].freeze
    private_constant :NOT_THE_SERVICE, :KEYWORDS

    # @return [String] by which errors name it
    attr_reader :name

    # @param name [String, Symbol]
    # @param failures [Integer] how many open the circuit
    # @param within [Numeric] seconds in which they have to happen
    # @param open_for [Numeric] seconds until a call is tried again
    # @param errors [Array<Module>] exceptions that are failures; never those that end a request
    #   because its client has left or somebody has cancelled it
    # @param on_change [#call, nil] gets the breaker, the state before and the state now, in the
    #   caller that has changed it; what it raises is raised there
    # @raise [ArgumentError] for a number that is too small, or none, and an on_change without #call
    def initialize(name, failures: 5, within: 60, open_for: 30, errors: [StandardError],
                   on_change: nil, **unknown)
      Arguments.refuse_keywords("NB::CircuitBreaker.new", unknown, KEYWORDS) unless unknown.empty?
      @name = name.to_s
      @failures_max = whole(failures)
      @within = seconds(within, "within")
      @open_for = seconds(open_for, "open_for")
      @errors = Array(errors).each { |one| module?(one) }
      Arguments.callable("NB::CircuitBreaker", :on_change, on_change)
      @on_change = on_change
      @lock = Thread::Mutex.new
      @told = :closed
      close
    end

    # Calls the block, unless the circuit is open. A time limit belongs inside the block, or is an
    # NB.deadline: a Timeout around the call may end it without an exception, which says nothing.
    # @return what the block returns
    # @raise [ArgumentError] without a block
    # @raise [Open] when the call is not made; never parks then
    # @raise whatever the block raises
    def call(&block)
      Arguments.refuse("NB::CircuitBreaker#call") unless block

      era, changed = admit
      begin
        tell(changed)
        begin
          result = yield
          outcome = :success
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          outcome = :failure if failure?(e)
          raise
        end
      ensure
        tell(Compat.shielded { settle(era, outcome, e) })
      end
    end

    # @return [Symbol] :closed, :open or :half_open
    def state
      @lock.synchronize { current_state }
    end

    # @return [Hash{Symbol => Object}] state; failures, of those that count now; retry_in: seconds
    #   until a call may be made again, 0.0 where one may be made now
    def stats
      @lock.synchronize do
        forget_old
        { state: current_state, failures: @failed_at.size, retry_in: left }
      end
    end

    # Closes the circuit: calls are made again.
    # @return [self]
    def reset
      tell(change { close })
      self
    end

    # @return [String]
    def inspect
      "#<#{self.class.name} #{@name}: #{state}>"
    end

    private

    def whole(number)
      return number if number.is_a?(Integer) && number.positive?

      raise ArgumentError, "NB::CircuitBreaker: failures is a whole number of at least 1, " \
                           "not #{number.inspect}", Backtrace.of_caller
    end

    def seconds(number, word)
      return number if number.is_a?(Numeric) && number.real? && number.positive?

      raise ArgumentError, "NB::CircuitBreaker: #{word} is a number of seconds above 0, " \
                           "not #{number.inspect}", Backtrace.of_caller
    end

    def module?(one)
      return if one.is_a?(Module)

      raise ArgumentError, "NB::CircuitBreaker: errors are classes or modules, " \
                           "not #{one.inspect}", Backtrace.of_caller
    end

    def failure?(error)
      NOT_THE_SERVICE.none? { |one| error.is_a?(one) } && @errors.any? { |one| error.is_a?(one) }
    end

    # @return [Array(Object, Array)] the era in which the call begins, and as #change
    # @raise [Open]
    def admit
      era = nil
      changed = change do
        refuse if @opened_at && (trying? || left.positive?)
        try if @opened_at
        era = @era
      end
      [era, changed]
    end

    def refuse
      wait = left
      again = "is being tried"
      again = "is tried again in #{wait.round(1)} s" if wait.positive?
      raise Open.new("the circuit breaker #{@name} is open: #{@cause}; a call #{again}", wait)
    end

    # Calls that began in an earlier era say nothing of the circuit as it is now.
    def settle(era, outcome, error)
      change do
        next unless era.equal?(@era)

        trial = @tried_at
        @tried_at = nil
        close if trial && outcome == :success
        fail_with(error) if outcome == :failure
      end
    end

    def fail_with(error)
      forget_old
      @failed_at << Deadline.now
      trip(error) if @opened_at || @failed_at.size >= @failures_max
    end

    # --- Each begins an era. ---

    def trip(error)
      @cause = "#{@failed_at.size} failures, the last #{error.class}"
      @opened_at = Deadline.now
      @failed_at.clear
      @era = Object.new
    end

    def try
      @tried_at = Deadline.now
      @tried_in = ::Process.pid
      @era = Object.new
    end

    def close
      @failed_at = []
      @opened_at = @cause = nil
      @tried_at = nil
      @era = Object.new
    end

    # ---

    def forget_old
      now = Deadline.now
      @failed_at.shift while @failed_at.any? && @failed_at.first <= now - @within
    end

    # What made the call may have been left: an Enumerator half way, a thread of the process that
    # has forked this one.
    def trying?
      !@tried_at.nil? && @tried_in == ::Process.pid && @tried_at + @open_for > Deadline.now
    end

    def left
      @opened_at ? [@opened_at + @open_for - Deadline.now, 0.0].max : 0.0
    end

    def current_state
      return :closed unless @opened_at

      left.positive? && !trying? ? :open : :half_open
    end

    # Runs the block with the lock.
    # @return [Array(Symbol, Symbol)] the state before and the state now
    def change
      @lock.synchronize do
        yield
        before = @told
        [before, @told = current_state]
      end
    end

    def tell(changed)
      before, now = changed
      @on_change&.call(self, before, now) unless before == now
    end
  end
end
