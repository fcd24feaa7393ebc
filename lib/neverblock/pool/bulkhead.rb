# frozen_string_literal: true

# NB::Bulkhead: at most so many callers at once, so that one slow service does not take up all
# fibers, threads or connections ("Release It!", Michael T. Nygard).
#
#   SEARCH = NB::Bulkhead.new(5, queue: 20, wait: 0.5, name: "search")
#   SEARCH.call { Net::HTTP.get(uri) }

require "neverblock/errors"
require "neverblock/pool/gauge"
require "neverblock/pool/holders"
require "neverblock/pool/waiter"
require "neverblock/verbs/arguments"
require "neverblock/verbs/deadline"

module NeverBlock
  # May be used from fibers of any loop and from plain threads. Each process has its own places.
  class Bulkhead
    # No place became free in time, or too many wait already.
    class Full < Error; end

    KEYWORDS = %w[queue wait name].freeze
    private_constant :KEYWORDS

    # @return [Integer] how many may be inside at once
    attr_reader :places
    # @return [String] by which errors and figures name it
    attr_reader :name

    # @param places [Integer] how many may be inside at once
    # @param queue [Integer, nil] how many more may wait; nil: no limit
    # @param wait [Numeric, nil] longest wait for a place, in seconds; nil and Infinity: no limit
    # @param name [String, Symbol, nil] nil: where it was made, as "app/models/search.rb:3"
    # @raise [ArgumentError] for a number that is too small, or none
    def initialize(places, queue: nil, wait: nil, name: nil, **unknown)
      Arguments.refuse_keywords("NB::Bulkhead.new", unknown, KEYWORDS) unless unknown.empty?
      @places = whole(places, 1, "places")
      @queue_max = queue && whole(queue, 0, "queue")
      @wait_max = seconds(wait)
      @key = :"neverblock_bulkhead_#{object_id}"
      @name = (name || Pool::Gauge.place(caller_locations(1, 1)&.first)).to_s
      @gauge = Pool::Gauge.new(:bulkhead, @name, @places)
      start
    end

    # Calls the block once there is a place. Until then parks the fiber (elsewhere: blocks the
    # thread), first come, first served. A fiber that is inside already needs no second place. The
    # place of a fiber that has ended inside, or can never go on, is given to a waiter.
    # @return what the block returns
    # @raise [ArgumentError] without a block
    # @raise [Full] when too many wait, when no place became free in time, and in a blocking fiber
    #   of a loop whose other fibers have all places
    def call(&block)
      Arguments.refuse("NB::Bulkhead#call") unless block

      forget_parent
      outer = Thread.current[@key]
      return yield if outer && @holders.include?(outer)

      enter_and_call(Pool::Holder.new, &block)
    end

    # @return [Hash{Symbol => Integer}] places; held; waiting
    def stats
      forget_parent
      @lock.synchronize { { places: @places, held: @holders.size, waiting: @waiters.size } }
    end

    # @return [String]
    def inspect
      "#<#{self.class.name} #{@name}: #{stats.map { |word, count| "#{word} #{count}" }.join(", ")}>"
    end

    private

    def whole(number, least, word)
      return number if number.is_a?(Integer) && number >= least

      raise ArgumentError, "NB::Bulkhead: #{word} is a whole number of at least #{least}, " \
                           "not #{number.inspect}", Backtrace.of_caller
    end

    def seconds(number)
      raise ArgumentError if number.is_a?(Numeric) && number.real? && number.negative?

      Deadline.seconds(number)
    rescue TypeError, ArgumentError
      raise ArgumentError, "NB::Bulkhead: wait is a number of seconds of at least 0, or nil for " \
                           "no limit, not #{number.inspect}", Backtrace.of_caller
    end

    def start
      @pid = Process.pid
      @lock = Thread::Mutex.new
      @holders = Pool::Holders.new
      @waiters = []
    end

    # The fibers that hold places are the parent's, and the lock may be a parent's thread's.
    def forget_parent
      start unless @pid == Process.pid
    end

    def enter_and_call(holder)
      outer = Thread.current[@key]
      enter(holder)
      Thread.current[@key] = holder
      yield
    ensure
      Thread.current[@key] = outer
      leave(holder)
    end

    def enter(holder)
      @lock.synchronize do
        search(weaken: false) if full?
        full? ? wait(holder) : take(holder)
      end
    end

    # While somebody waits, no place is free.
    def full?
      @holders.size >= @places
    end

    def take(holder)
      @holders.add(holder)
      tell(:acquired)
    end

    # The wait for the lock cannot be interrupted, or the place would be lost.
    def leave(holder)
      Compat.shielded do
        @lock.synchronize do
          next unless @holders.delete(holder)

          serve
          tell(:changed)
        end
      end
    end

    # A place that is given back is the first waiter's.
    def serve
      while !full? && (waiter = @waiters.shift)
        take(waiter.subject)
        waiter.grant
      end
    end

    def search(weaken:)
      serve if @holders.take_lost(weaken: weaken).any?
    end

    def wait(holder)
      refuse("#{@waiters.size} wait already") if @queue_max && @waiters.size >= @queue_max
      refuse_to_wait_for_ever
      deadline = @wait_max && (Deadline.now + @wait_max)
      @waiters << (waiter = Pool::Waiter.new(holder, @gauge))
      tell(:waits)
      wait_once(waiter, deadline) until waiter.granted?
    ensure
      unless waiter.nil? || waiter.granted?
        @waiters.delete(waiter)
        tell(:changed)
      end
    end

    def wait_once(waiter, deadline)
      left = deadline ? deadline - Deadline.now : Pool::Holders::SEARCH_SECONDS
      refuse("no place became free within #{@wait_max} s") if left <= 0
      waiter.wait(@lock, [left, Pool::Holders::SEARCH_SECONDS].min)
      search(weaken: true) unless waiter.granted?
    end

    def refuse_to_wait_for_ever
      return unless @holders.hopeless?

      refuse("fibers of this thread hold them, and a blocking fiber would wait for ever")
    end

    def refuse(why)
      raise Full, "the bulkhead #{@name} has no free place: #{@holders.size} of #{@places} are " \
                  "held, and #{why}"
    end

    def tell(event)
      @gauge.tell(event, @holders.size, @waiters.size)
    end
  end
end
